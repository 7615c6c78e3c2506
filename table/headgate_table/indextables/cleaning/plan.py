"""Which objects cleaning may delete from a table: pure plans over an inventory, with the reason for each object.

The rules (docs/format.md, section 6.6): deleted versions are a prefix, in ascending order, strictly below the pointer
and never above a state that stays, so that a late writer can't fill a gap and be believed. The newest version file, the
newest two states and everything that they need always stay. `cleaner` gathers the facts for a plan, and deletes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from headgate_table.indextables.log.inventory import LogInventory
from headgate_table.indextables.log.resolve import states_in_history
from headgate_table.settings.options import TableOptions

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
MIN_STATES = 2
"""A reader that is under way with the last state but one must be able to finish."""
MIN_MANIFEST_AGE_MS = 20 * MINUTE_MS
"""No setting goes below it. A writer gives up a state that took ten minutes, so nothing older is about to be referred to."""


class Category(Enum):
    """The kind of a deleted object. The order of the members is the order of deletion."""

    STATE = "state"
    CHECKPOINT = "checkpoint"
    VERSION = "version file"
    MANIFEST = "manifest"
    DATA_FILE = "data file"
    TEMPORARY = "temporary file"
    """Of a local writer that was killed."""
    QUARANTINED = "object in quarantine"
    """`quarantine` says what that is."""
    CLAIM = "claim"
    """A proposal too large for the bus."""
    MIRROR = "object of a mirror"
    """A commit or checkpoint of a Delta log, of versions that the table doesn't retain any more."""

    @property
    def plural(self) -> str:
        match self:
            case Category.QUARANTINED:
                return "objects in quarantine"
            case Category.MIRROR:
                return "objects of a mirror"
            case _:
                return f"{self.value}s"


@dataclass(frozen=True, slots=True)
class Deletion:
    """One object that is deleted. On a local store, Hadoop's sidecar of the file is deleted with it, unlisted."""

    key: str
    size: int
    category: Category
    reason: str


@dataclass(frozen=True, slots=True)
class StateFacts:
    """The facts from inside of a state that planning needs."""

    created_at: int
    manifests: frozenset[str]
    """The keys of the manifests it refers to."""
    has_metadata: bool
    has_coordinator: bool = False
    metadata_version: int | None = None
    """For a state without metadata: the version file that readers take it from, if there is one."""


@dataclass(frozen=True, slots=True)
class Protected:
    """Needs that the log itself doesn't show: those of undecided proposals and their committer."""

    files: frozenset[str] = frozenset()
    """Keys of data files."""
    manifests: frozenset[str] = frozenset()
    """Keys of manifests."""
    claims: frozenset[str] = frozenset()
    """Keys of claims."""
    versions_from: int | None = None
    """Version files from here on are still needed, whatever their age: they may have to be announced again, or be compared
    with what a proposal has read."""
    rebuilt: frozenset[int] = frozenset()
    """Versions that must be readable as they are: what they are rebuilt from stays, whatever its age."""
    looked_ms: int | None = None
    """When the looking began: what was proposed since is not among these, and is kept by its age at that time."""


@dataclass(frozen=True, slots=True)
class Roots:
    """The objects that must stay for other reasons than names and ages."""

    pointer: int | None
    """Where the pointer stood when it was read last; None without a usable one."""
    states: Mapping[int, StateFacts | None]
    """By version; None for a state that can't be read."""
    manifests: frozenset[str] = frozenset()
    """Manifests that versions after the newest state, or proposals under way, name."""
    versions_from: int | None = None
    rebuilt: frozenset[int] = frozenset()
    """The last two as in `Protected`."""


@dataclass(frozen=True, slots=True)
class Limits:
    state_count: int
    state_age_ms: int
    log_age_ms: int
    manifest_age_ms: int
    skew_ms: int = 0
    """By how much an object may seem older than it is, since its time is the store's. It is in the first two ages already."""
    is_truncation: bool = False
    """Whether states and manifests go whatever their age, as soon as no writer can be about to name them."""


@dataclass(frozen=True, slots=True)
class CleaningPlan:
    """The objects to delete, in an order in which a crash at any point is harmless."""

    deletions: tuple[Deletion, ...]
    notes: tuple[str, ...] = ()
    """Why something was left that might have been expected to go."""
    problems: tuple[str, ...] = ()
    """What is damaged, and so was left although it might be due."""

    def of(self, category: Category) -> list[Deletion]:
        return [deletion for deletion in self.deletions if deletion.category is category]


def limits_of(options: TableOptions, log_retention_hours: int | None = None) -> Limits:
    """The limits in the settings."""
    log_hours = options.purge_log_retention_hours if log_retention_hours is None else log_retention_hours
    return Limits(
        state_count=options.retention_versions,
        state_age_ms=options.retention_hours * HOUR_MS + margin_ms(options),
        log_age_ms=log_hours * HOUR_MS + margin_ms(options),
        manifest_age_ms=options.gc_min_manifest_age_hours * HOUR_MS,
        skew_ms=options.purge_clock_skew_minutes * MINUTE_MS,
    )


def margin_ms(options: TableOptions) -> int:
    """The addition to retentions, since ages are measured by two clocks; 0 if the user states that no job is running."""
    return options.purge_clock_skew_minutes * MINUTE_MS if options.purge_retention_check else 0


def plan_cleaning(inventory: LogInventory, roots: Roots, limits: Limits, now_ms: int) -> CleaningPlan:
    """The log objects that may be deleted. `orphans` finds data files after the log is clean."""
    notes: list[str] = []
    problems: list[str] = []
    states: list[Deletion] = []
    gone_states: set[int] = set()
    checkpoints: list[Deletion] = []
    versions: list[Deletion] = []
    if roots.pointer is None:
        if any(now_ms - info.modified_ms > limits.log_age_ms for info in inventory.versions.values()):
            notes.append(
                "there is no usable pointer, so readers may need every version and state: none was deleted; "
                "`headgate table checkpoint` makes a pointer"
            )
    elif roots.states.get(roots.pointer) is None and roots.pointer not in inventory.checkpoints:
        problems.append(
            f"the pointer names version {roots.pointer}, whose state is missing or damaged: no version or state was deleted; "
            f"`headgate table verify` says more"
        )
    else:
        carried = _still_carried(inventory, roots, roots.pointer, limits, now_ms)
        kept = _kept_anchors(inventory, roots, roots.pointer, limits, carried)
        if carried:
            minutes = _superseded_ms(limits) // MINUTE_MS
            notes.append(
                f"state {min(carried)} and what came after it stay for {minutes} minutes, because a writer that builds on it may be "
                f"about to name its manifests"
            )
        gone_states, states = _expired_states(inventory, roots.pointer, kept, limits, now_ms)
        gone_checkpoints, checkpoints = _expired_checkpoints(inventory, roots.pointer, kept, limits, now_ms)
        staying = [number for number in inventory.readable_states() if number not in gone_states]
        staying += [number for number in inventory.checkpoints if number not in gone_checkpoints]
        versions = _expired_versions(inventory, roots, roots.pointer, staying, limits, now_ms)
    manifests = _orphan_manifests(inventory, roots, gone_states, limits, now_ms, problems)
    return CleaningPlan((*states, *checkpoints, *versions, *manifests), tuple(notes), tuple(problems))


def _always_kept(inventory: LogInventory, roots: Roots, pointer: int, limits: Limits) -> set[int]:
    """The numbers of states and checkpoints that stay on their own account, whatever their age."""
    history = states_in_history(roots.states)
    anchors = sorted({*history, *inventory.checkpoints})
    kept = set(anchors[-max(limits.state_count, MIN_STATES) :])
    # A running reader has found its state by its number alone.
    kept |= set(sorted({*roots.states, *inventory.checkpoints})[-MIN_STATES:])
    kept |= {pointer, *(number for number in roots.states if number >= pointer)}
    for version in roots.rebuilt:
        kept |= set([number for number in anchors if number <= version][-1:])
    recovery = [number for number in history if (facts := roots.states[number]) and facts.has_coordinator]
    return kept | set(recovery[-1:])


def _kept_anchors(
    inventory: LogInventory, roots: Roots, pointer: int, limits: Limits, carried: Collection[int]
) -> set[int]:
    """The numbers of states and checkpoints that stay, whatever their age, with the states that they depend on."""
    history = states_in_history(roots.states)
    kept = {*_always_kept(inventory, roots, pointer, limits), *carried}
    # A state without metadata depends on the version file that has it, or else on the newest state below that does.
    for number in sorted(kept):
        facts = roots.states.get(number)
        if facts is not None and not facts.has_metadata and facts.metadata_version is None:
            below = [
                other for other in history if other < number and (there := roots.states[other]) and there.has_metadata
            ]
            kept |= set(below[-1:])
    return kept


def _expired_states(
    inventory: LogInventory, pointer: int, kept: Collection[int], limits: Limits, now_ms: int
) -> tuple[set[int], list[Deletion]]:
    gone: set[int] = set()
    deletions: list[Deletion] = []
    below = pointer if limits.is_truncation else min(pointer, _superseded_below(inventory, limits, now_ms))
    for number, folder in inventory.states.items():
        if folder.manifest is None or number >= below or number in kept:
            continue
        age_ms = now_ms - folder.manifest.modified_ms
        if age_ms <= limits.state_age_ms:
            continue
        gone.add(number)
        reason = f"state {number} is {_age(age_ms, limits.state_age_ms)}not among those that are kept"
        # The state itself first: without it, the rest of its folder isn't a state any more.
        for info in (folder.manifest, *folder.strays):
            deletions.append(Deletion(info.key, info.size, Category.STATE, reason))
    return gone, deletions


def _superseded_below(inventory: LogInventory, limits: Limits, now_ms: int) -> int:
    """States below this number have had a later one, or a later checkpoint, for so long that no writer still builds on them.

    Such a writer carries their manifests over, however old these are, so their own age doesn't count: it counts how
    long no writer can have begun to refer to them. Only the state above shows that, so it stays until then. A writer
    begins only on the newest state, and has half of this time (`write.state_writer`).
    """
    states = {number: folder.manifest for number, folder in inventory.states.items() if folder.manifest is not None}
    old = [
        number
        for number, info in (*states.items(), *inventory.checkpoints.items())
        if now_ms - info.modified_ms > _superseded_ms(limits)
    ]
    return max(old, default=-1)


def _superseded_ms(limits: Limits) -> int:
    return MIN_MANIFEST_AGE_MS + limits.skew_ms


def _still_carried(inventory: LogInventory, roots: Roots, pointer: int, limits: Limits, now_ms: int) -> set[int]:
    """The states that a truncation keeps, because a writer that builds on them may be about to name their manifests.

    For each manifest, the newest state that names it is enough. If no manifest was swapped or rewritten, the states that
    stay anyway name all of them.
    """
    if not limits.is_truncation:
        return set()
    staying = _always_kept(inventory, roots, pointer, limits)
    named = {key for number in staying if (facts := roots.states.get(number)) for key in facts.manifests}
    carried: set[int] = set()
    superseded_below = _superseded_below(inventory, limits, now_ms)
    for number in sorted(roots.states.keys() - staying, reverse=True):
        facts = roots.states[number]
        if number >= superseded_below and facts is not None and not facts.manifests <= named:
            carried.add(number)
            named |= facts.manifests
    return carried


def _expired_checkpoints(
    inventory: LogInventory, pointer: int, kept: Collection[int], limits: Limits, now_ms: int
) -> tuple[set[int], list[Deletion]]:
    gone: set[int] = set()
    deletions: list[Deletion] = []
    for number in sorted({*inventory.checkpoints, *inventory.checkpoint_parts}):
        main = inventory.checkpoints.get(number)
        parts = inventory.checkpoint_parts.get(number, ())
        objects = [*([main] if main is not None else []), *parts]
        if number >= pointer or (number in kept and main is not None):
            continue
        if any(now_ms - info.modified_ms <= limits.log_age_ms for info in objects):
            continue
        if main is not None:
            gone.add(number)
        reason = (
            f"checkpoint {number} is superseded by the one at {pointer}"
            if main is not None
            else f"a part of checkpoint {number}, which doesn't exist"
        )
        deletions += [Deletion(info.key, info.size, Category.CHECKPOINT, reason) for info in objects]
    return gone, deletions


def _expired_versions(
    inventory: LogInventory, roots: Roots, pointer: int, staying: Sequence[int], limits: Limits, now_ms: int
) -> list[Deletion]:
    """A prefix of the version files that no remaining state or checkpoint needs."""
    if not staying or not inventory.versions:
        return []
    # Up to the lowest state that stays: a late writer could fill a gap above a state, find that state as its
    # predecessor, and take its version for committed.
    last = min(*staying, pointer - 1, max(inventory.versions) - 1)
    if roots.versions_from is not None:
        last = min(last, roots.versions_from - 1)
    if any(version < min(staying) for version in roots.rebuilt):
        return []  # rebuilt without a base: every version file is needed
    for number in staying:
        facts = roots.states.get(number)
        if facts is not None and not facts.has_metadata and facts.metadata_version is not None:
            last = min(last, facts.metadata_version - 1)
    deletions: list[Deletion] = []
    for version, info in inventory.versions.items():
        age_ms = now_ms - info.modified_ms
        if version > last or age_ms <= limits.log_age_ms:
            break
        age = _age(age_ms, limits.log_age_ms)
        reason = f"version {version} is {age}covered by the state or checkpoint at {min(staying)}"
        deletions.append(Deletion(info.key, info.size, Category.VERSION, reason))
    return deletions


def _orphan_manifests(
    inventory: LogInventory,
    roots: Roots,
    gone_states: Collection[int],
    limits: Limits,
    now_ms: int,
    problems: list[str],
) -> list[Deletion]:
    """Manifests that no remaining state refers to.

    Their age counts from their own modification. This is as good as from the time when the last state dropped them,
    because `_superseded_below` keeps that state until then.
    """
    referenced = set(roots.manifests)
    for number in inventory.readable_states():
        if number in gone_states:
            continue
        facts = roots.states.get(number)
        if facts is None:
            problems.append(f"state {number} can't be read, so no manifest was deleted: it may refer to any of them")
            return []
        referenced |= facts.manifests
    released: set[str] = set()
    if limits.is_truncation:
        released = {key for number in gone_states if (facts := roots.states.get(number)) for key in facts.manifests}
    oldest_ms = max(limits.manifest_age_ms, MIN_MANIFEST_AGE_MS) + limits.skew_ms
    return [
        Deletion(
            key,
            info.size,
            Category.MANIFEST,
            f"no retained state refers to it; it is {_hours(now_ms - info.modified_ms)} old",
        )
        for key, info in sorted(inventory.manifest_objects().items())
        if key not in referenced and (key in released or now_ms - info.modified_ms > oldest_ms)
    ]


def _age(age_ms: int, least_ms: int) -> str:
    """The age as a reason; none if no age is required, because the given age may then be artificial."""
    return f"{_hours(age_ms)} old and " if least_ms >= 0 else ""


def _hours(age_ms: int) -> str:
    hours = age_ms // HOUR_MS
    return f"{hours} hours" if hours < 72 else f"{hours // 24} days"
