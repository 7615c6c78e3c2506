"""Random histories of a table whose data files exist, and cleaning at any moment of them, judged by what it must leave.

What a version holds is kept here in sets of paths, without any of the code that is tested.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.operations import Append, Committed, Delete, Operation, Overwrite, Restore, Rewrite
from headgate_table.indextables.cleaning.orphans import is_data_key
from headgate_table.indextables.format.names import version_key
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import HOUR_MS, FakeAmbient
from support.cleaning import World, one_thread
from support.stores.faulty import Fault, FaultyStore, Step, StepKill

DAY = 24
OPEN = {"purge.retentionCheckEnabled": "false"}


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that happens: its kind, a number that picks among what is there, and the hours that pass afterwards."""

    kind: str
    pick: int = 0
    hours: float = 1


@dataclass(frozen=True, slots=True)
class Cleaning:
    """One run of cleaning: what it is told, and what happens at one of its steps ("" for nothing)."""

    truncates: bool
    file_hours: int
    log_hours: int
    settings: Mapping[str, str]
    step: int
    moment: str
    """The first step of this kind, or the one of that number where it is ""."""
    meanwhile: str


KINDS = (
    "append",
    "append",
    "append",
    "delete",
    "overwrite",
    "rewrite",
    "orphan",
    "orphan",
    "adopt",
    "restore",
    "compact",
    "checkpoint",
)

ACTS = st.builds(
    Act, st.sampled_from(KINDS), st.integers(0, 50), st.sampled_from([0.01, 1, 5, DAY, 3 * DAY, 9 * DAY, 40 * DAY])
)

SETTINGS = st.fixed_dictionaries(
    {
        "state.retention.hours": st.sampled_from(["0", "2", "48", "168"]),
        "state.retention.versions": st.sampled_from(["1", "2", "3"]),
        "state.gc.minManifestAgeHours": st.sampled_from(["0", "1", "30"]),
        "purge.quarantineHours": st.sampled_from(["0", "0", "30"]),
        "purge.deletesPerSecond": st.sampled_from(["1", "3", "1000"]),
    }
)

CLEANINGS = st.builds(
    Cleaning,
    truncates=st.sampled_from([False, False, True]),
    file_hours=st.sampled_from([0, 1, 24, 168]),
    log_hours=st.sampled_from([0, 1, 48, 720]),
    settings=SETTINGS,
    step=st.integers(1, 80),
    moment=st.sampled_from(["", "", "delete", "create", "list"]),
    meanwhile=st.sampled_from(
        ["", "death before", "death after", "cleaner", "truncation", "adopt", "append", "compact"]
    ),
)

RACES = st.builds(
    Cleaning,
    truncates=st.just(False),
    file_hours=st.sampled_from([0, 24]),
    log_hours=st.sampled_from([0, 720]),
    settings=SETTINGS,
    step=st.just(1),
    moment=st.sampled_from(["delete", "create", "list"]),
    meanwhile=st.just("adopt"),
)
"""A job wakes up in the middle of a cleaning, and commits a file that it wrote long ago."""

SCHEDULES = st.lists(ACTS | CLEANINGS | RACES, min_size=3, max_size=16)


@dataclass(slots=True)
class _Before:
    """What a cleaning found, as far as it binds it."""

    states: list[int]
    young_states: set[int]
    young_versions: set[int]


@dataclass(slots=True)
class CleanedTable:
    """A table in memory, what each of its versions holds, and the files that no version names."""

    world: World = field(default_factory=lambda: World(interval=2))
    held: list[frozenset[str]] = field(default_factory=lambda: [frozenset()])
    """The live paths by version."""
    orphans: list[AddFile] = field(default_factory=list)
    _processes: int = 0

    def opened(self, store: Store | None = None, settings: Mapping[str, str] | None = None) -> Table:
        """As a process sees it that has read nothing yet, and whose ids are its own."""
        self._processes += 1
        ambient = FakeAmbient(f"process-{self._processes}", self.world.clock.time_ms)
        chosen = {"checkpoint.interval": str(self.world.interval), **OPEN, **(settings or {})}
        return Table(store or self.world.store, ambient, one_thread(), chosen)

    def play(self, acts: Sequence[Act | Cleaning]) -> None:
        for act in acts:
            if isinstance(act, Cleaning):
                self.clean(act)
            else:
                self.do(act)

    def do(self, act: Act) -> None:
        table = self.opened()
        live = sorted(self.held[-1])
        chosen = live[act.pick % len(live)] if live else None
        match act.kind:
            case "append":
                self._commit(table, Append((self.world.write(),)))
            case "delete" if chosen:
                self._commit(table, Delete((chosen,), None))
            case "overwrite":
                self._commit(table, Overwrite((self.world.write(),), None))
            case "rewrite" if chosen:
                self._commit(table, Rewrite((chosen,), (self.world.write(),)))
            case "orphan":
                self.orphans.append(self.world.write())
            case "adopt":
                self.adopt(table)
            case "restore":
                self._commit(table, Restore(act.pick % len(self.held)))
            case "compact":
                table.compact()
            case "checkpoint":
                table.checkpoint()
            case _:
                pass
        self._follow(table)
        self.world.clock.advance(hours=act.hours)

    def adopt(self, table: Table) -> None:
        """Append a file that has lain there for some time, as a job does that was asleep."""
        self.orphans = [file for file in self.orphans if self.world.store.head(file.path) is not None]
        if self.orphans:
            self._commit(table, Append((self.orphans.pop(0),)))

    def clean(self, cleaning: Cleaning) -> None:
        """Clean, and check what is left."""
        before = self._before(cleaning)
        store = FaultyStore(self.world.store, self._plan(cleaning))
        table = self.opened(store, cleaning.settings)
        with suppress(StepKill):
            self.run(table, cleaning)
        self._follow(self.opened())
        self._check(before)

    def run(self, table: Table, cleaning: Cleaning, *, dry_run: bool = False) -> list[tuple[str, str]]:
        """What it lists as deleted: keys and what they were."""
        if cleaning.truncates:
            found = table.truncate_history(dry_run=dry_run).deletions
        else:
            found = table.purge(cleaning.file_hours, cleaning.log_hours, dry_run=dry_run).deletions
        return [(deletion.key, deletion.category.value) for deletion in found]

    def _plan(self, cleaning: Cleaning) -> Callable[[Step], Fault | None]:
        is_over = False

        def plan(step: Step) -> Fault | None:
            nonlocal is_over
            if is_over or not _is_it(step, cleaning):
                return None
            is_over = True
            table = self.opened()
            match cleaning.meanwhile:
                case "death before":
                    return Fault.KILL_BEFORE
                case "death after":
                    return Fault.KILL_AFTER
                case "cleaner":
                    table.purge(0, 0)
                case "truncation":
                    table.truncate_history()
                case "adopt":
                    self.adopt(table)
                case "append":
                    self._commit(table, Append((self.world.write(),)))
                case "compact":
                    table.compact()
                case _:
                    pass
            return None

        return plan

    def _commit(self, table: Table, operation: Operation) -> None:
        receipt = table.commit(operation)
        if not isinstance(receipt, Committed):
            return
        self._extend(receipt.version - 1)
        live = self.held[-1]
        match operation:
            case Append(files):
                live |= {file.path for file in files}
            case Delete(paths, _):
                live -= set(paths)
            case Overwrite(files, _):
                live = frozenset(file.path for file in files)
            case Rewrite(removes, adds):
                live = (live - set(removes)) | {file.path for file in adds}
            case Restore(version):
                live = self.held[version]
            case _:
                raise AssertionError(f"no history holds {operation}")
        self._extend(receipt.version - 1)
        self.held.append(live)

    def _follow(self, table: Table) -> None:
        """Purges and compactions are versions that leave the files as they are."""
        self._extend(table.version)

    def _extend(self, version: int) -> None:
        while len(self.held) <= version:
            self.held.append(self.held[-1])

    def _before(self, cleaning: Cleaning) -> _Before:
        states = self.world.states()
        now_ms = self.world.clock.time_ms
        aged = {info.key: now_ms - info.modified_ms for info in self.world.store.list("_transaction_log/")}
        state_ms = int(cleaning.settings["state.retention.hours"]) * HOUR_MS
        log_ms = cleaning.log_hours * HOUR_MS
        if cleaning.truncates or cleaning.meanwhile in ("cleaner", "truncation"):
            state_ms = log_ms = -1  # one of them forgets them on purpose, or is told less
        return _Before(
            states,
            {s for s in states if aged[f"_transaction_log/state-v{s:020d}/_manifest.avro"] <= state_ms},
            {v for v in self.world.versions() if aged[version_key(v)] <= log_ms},
        )

    def _check(self, before: _Before) -> None:
        table = self.opened()
        there = {info.key for info in self.world.store.list()}
        newest = len(self.held) - 1
        assert table.version == newest
        states, versions = self.world.states(), self.world.versions()
        # It may have written one itself, and others meanwhile.
        assert set(sorted({*before.states, *states})[-2:]) <= set(states), "one of the newest two states is gone"
        assert before.young_states <= set(states), "a state within its retention is gone"
        assert before.young_versions <= set(versions), "a version file within its retention is gone"
        assert newest in versions, "the newest version file is gone"
        readable = {
            version
            for first, last in table.reader.retained(table.reader.full_listing())
            for version in range(first, last + 1)
        }
        # Versions below the only state can be rebuilt from the very first alone, which may have had its time.
        first = states[-2] if len(states) > 1 else states[0] if states and versions[0] > 0 else versions[0]
        promised = {newest, *states, *range(first, newest + 1)}
        assert promised <= readable, "a retained version can't be read any more"
        for version in sorted(readable):
            paths = table.snapshot(version).paths()
            assert paths == sorted(self.held[version]), f"version {version} shows other files"
            assert set(paths) <= there, f"a file of version {version} is gone"
        assert table.verify().of(Severity.ERROR) == []


def _is_it(step: Step, cleaning: Cleaning) -> bool:
    match cleaning.moment:
        case "":
            return step.number == cleaning.step
        case "delete":
            return step.operation == "delete" and is_data_key(step.key)
        case operation:
            return step.operation == operation
