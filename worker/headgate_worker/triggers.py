"""When a look at a table can't wait for the cooldown, by the table's own settings: values, and the counting of commits. Pure.

A role says after each look what would make the next one urgent; the schedule counts, and knows no settings.
"""

from dataclasses import dataclass

MERGE_OPERATION = "Rewrite"
GROUP_OPERATION = "Group"
"""Of several kinds of proposals in one version, merges perhaps among them."""
WRITE_OPERATIONS = frozenset({"Append", "Overwrite", "Delete", "Restore", GROUP_OPERATION})
"""As commit events name what changes data. A merge is none of them, or its own outputs would call for the next."""
SETTINGS_OPERATION = "Alter"
_REMOVING = frozenset({"Overwrite", "Delete", MERGE_OPERATION})
"""Operations that show in an event by the files that they remove."""


def may_be_among(operation: str, wanted: frozenset[str], removed_files: int) -> bool:
    """Whether a version may hold one of the wanted operations. Of a group an event tells only what became of files."""
    if operation in wanted or not wanted:
        return operation in wanted
    return operation == GROUP_OPERATION and (removed_files > 0 or not wanted <= _REMOVING)


@dataclass(frozen=True, slots=True)
class Trigger:
    """Commits since the last look that call for the next one; any of these is enough."""

    added_files: int | None = None
    """Files that writes have added, together."""
    writes: int | None = None
    """Versions that changed data."""
    after_merge: bool = False


@dataclass(slots=True)
class CommitCounts:
    """What commits did since the last look began."""

    commits: int = 0
    writes: int = 0
    added_files: int = 0
    merges: int = 0

    def count(self, operation: str, added_files: int, removed_files: int) -> None:
        self.commits += 1
        if operation in WRITE_OPERATIONS:
            self.writes += 1
            self.added_files += added_files
        # Whether a group holds a merge the event doesn't tell: a look too many does no harm.
        if operation == MERGE_OPERATION or (operation == GROUP_OPERATION and removed_files):
            self.merges += 1

    def crosses(self, trigger: Trigger | None) -> bool:
        if trigger is None:
            return False
        return (
            (trigger.added_files is not None and self.added_files >= trigger.added_files)
            or (trigger.writes is not None and self.writes >= trigger.writes)
            or (trigger.after_merge and self.merges > 0)
        )
