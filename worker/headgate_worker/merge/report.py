"""The result of a merge: the columns of the operator statement, and further details for people."""

from dataclasses import dataclass
from enum import Enum

from headgate_schemas.actions.actions import SkipFile


class MergeStatus(Enum):
    """The values are those of the statement MERGE SPLITS (docs/format.md, section 9)."""

    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    NO_ACTION = "no_action"
    ERROR = "error"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class GroupDone:
    """Committed: these sources are one file now."""

    sources: tuple[str, ...]
    output: str
    version: int
    original_bytes: int
    merged_bytes: int


@dataclass(frozen=True, slots=True)
class GroupNothing:
    """Too few sources were left to merge anything."""


@dataclass(frozen=True, slots=True)
class GroupLost:
    """Another writer was faster. Nothing changed, and the output is deleted. Plan again to see the present files."""

    reason: str


@dataclass(frozen=True, slots=True)
class GroupFailed:
    """Nothing changed, and planning again alone wouldn't help."""

    reason: str


@dataclass(frozen=True, slots=True)
class GroupPending:
    """Nobody knows yet whether the merge is committed, so the output stays."""

    output: str
    reason: str


GroupResult = GroupDone | GroupNothing | GroupLost | GroupFailed | GroupPending


@dataclass(frozen=True, slots=True)
class GroupReport:
    """The result of one group, and the skips that were recorded during its merge."""

    result: GroupResult
    skips: tuple[SkipFile, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeReport:
    table_path: str
    status: MergeStatus
    merged_files: int
    """Sources that were replaced."""
    merge_groups: int
    """Files that replaced them."""
    original_size_bytes: int
    merged_size_bytes: int
    message: str
    version: int | None = None
    """The last one that a group was committed in."""
    skipped: tuple[SkipFile, ...] = ()
    pending: tuple[str, ...] = ()
    """Outputs that may or may not be live: they are kept."""
    problems: tuple[str, ...] = ()


def merge_report(table: str, groups: list[GroupReport], notes: tuple[str, ...]) -> MergeReport:
    """The report of a whole merge. Lost groups must have been planned again; groups that are still lost count as
    failed.
    """
    done = [group.result for group in groups if isinstance(group.result, GroupDone)]
    pending = [group.result for group in groups if isinstance(group.result, GroupPending)]
    failed = [group.result.reason for group in groups if isinstance(group.result, GroupFailed | GroupLost)]
    skipped = tuple(skip for group in groups for skip in group.skips)
    problems = (
        *failed,
        *(f"the outcome of {one.output} is not known: {one.reason}" for one in pending),
        *(f"{skip.path} is left alone for a while: {skip.reason}" for skip in skipped),
    )
    files = sum(len(one.sources) for one in done)
    said = [f"merged {files} files into {len(done)}"] if done else []
    if not done and not problems:
        said.append("nothing to merge")
    return MergeReport(
        table_path=table,
        status=_status(len(done), len(pending), len(failed) + len(skipped)),
        merged_files=files,
        merge_groups=len(done),
        original_size_bytes=sum(one.original_bytes for one in done),
        merged_size_bytes=sum(one.merged_bytes for one in done),
        message="; ".join([*said, *problems, *notes]),
        version=max((one.version for one in done), default=None),
        skipped=skipped,
        pending=tuple(one.output for one in pending),
        problems=problems,
    )


def _status(done: int, pending: int, wrong: int) -> MergeStatus:
    if done:
        return MergeStatus.PARTIAL_SUCCESS if pending or wrong else MergeStatus.SUCCESS
    if pending:
        return MergeStatus.PENDING
    return MergeStatus.ERROR if wrong else MergeStatus.NO_ACTION
