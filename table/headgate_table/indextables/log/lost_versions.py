"""Finds lost version files: those missing from the middle of a log, which no cleaning deletes.

Cleaning deletes the lowest versions first (docs/format.md, section 6.6). So a version file is lost, not cleaned, if the
next version names it as its predecessor and an earlier version of the same log still exists. Two other cases prove
nothing: tables of other writers have numbers without a file, and a file that came late into a cleaned number isn't part
of the log.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.errors import HeadgateError
from headgate_table.coordination.commit_info import CommitRecord, commit_record
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import version_key

if TYPE_CHECKING:
    # the other module asks here why a version is not retained
    from headgate_table.indextables.log.reader import LogReader


@dataclass(frozen=True, slots=True)
class Lost:
    """A run of lost version files, both ends included."""

    first: int
    last: int

    def __str__(self) -> str:
        one = self.first == self.last
        return f"version {self.first}" if one else f"versions {self.first} to {self.last}"

    @property
    def files(self) -> str:
        """Their names."""
        one = self.first == self.last
        return version_key(self.first) if one else f"{version_key(self.first)} to {version_key(self.last)}"

    def highest(self, count: int) -> range:
        """The numbers, at most the highest `count`."""
        return range(max(self.first, self.last + 1 - count), self.last + 1)

    @property
    def missing(self) -> str:
        """The loss, and its proof."""
        verb = "is" if self.first == self.last else "are"
        return f"{self.files} {verb} lost: version {self.last + 1} was written after it, and cleaning takes the lowest versions first"

    @property
    def advice(self) -> str:
        return (
            f"restore {self.files} from a copy of the table; without one, `headgate table truncate-history` gives up what lies "
            f"below, once there are two later states"
        )


def find_lost(
    versions: Sequence[int],
    told: Callable[[int], CommitRecord | None],
    anchors: Callable[[], Collection[int]],
    is_beginning: Callable[[], bool],
) -> list[Lost]:
    """The lost ones between these version files, which ascend. Pure except for its callbacks, which it calls only at a
    gap.

    `told` returns the `commitInfo` of a version file, `anchors` are states and checkpoints, and `is_beginning` says
    whether version 0 created this table, and not another one that was created here later.
    """
    lost: list[Lost] = []
    for under, below, above in zip([-1, -1, *versions], [-1, *versions], versions, strict=False):
        record = told(above) if above > below + 1 else None
        if record is None or not record.previous:
            continue  # nothing proves that the number before had a file
        numbers = anchors()
        lowest = min(numbers, default=above)
        first = below + 1
        if below < 0 or not (below > lowest or _is_of_the_log(below, below - 1 == under, told, is_beginning)):
            first = max(first, lowest + 1)
            if below <= lowest and above - 1 in numbers:
                continue  # a late state leaves the same gap, up to the lowest state that stayed
        if first < above:
            lost.append(Lost(first, above - 1))
    return lost


def _is_of_the_log(
    version: int, has_one_before: bool, told: Callable[[int], CommitRecord | None], is_beginning: Callable[[], bool]
) -> bool:
    """Whether the file certainly didn't come late. No late file names the one before it (`stale_versions`).

    `has_one_before`: the number before it has a file.
    """
    if version == 0:
        return is_beginning()
    if not has_one_before:
        return False
    own, before = told(version), told(version - 1)
    return own is not None and before is not None and bool(own.previous) and own.previous == before.nonce


def lost_versions(reader: "LogReader", versions: Collection[int], anchors: Callable[[], Collection[int]]) -> list[Lost]:
    """The lost versions of a log. Reads version files only at gaps."""

    def told(version: int) -> CommitRecord | None:
        try:
            return commit_record(reader.actions_or_none(version) or ())
        except CorruptTable:
            return None

    def is_beginning() -> bool:
        try:
            ids = [action.id for action in reader.actions_or_none(0) or () if isinstance(action, Metadata)]
            return bool(ids) and reader.metadata(reader.latest()).id in ids
        except HeadgateError:
            return False  # damage elsewhere, which is reported there

    return find_lost(sorted(versions), told, anchors, is_beginning)
