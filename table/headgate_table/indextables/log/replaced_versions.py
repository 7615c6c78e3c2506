"""Version files that were replaced: the next version was written after another one than the file that lies there now.

A version of ours names its predecessor by the nonce. Cleaned numbers may be filled by writers that come late (docs/format.md,
section 6.6). Such a file is no damage: readers start above it. In every other place the file was replaced, and what its version
did to the table is lost.
"""

from collections.abc import Collection, Sequence

from headgate_schemas.actions.actions import Action
from headgate_schemas.errors import HeadgateError
from headgate_table.coordination.commit_info import nonce_and_previous
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.log.stale_versions import began_another_table


class Replacements:
    """Finds them in a whole log, whose version files are shown one by one, ascending."""

    def __init__(self) -> None:
        self._last: tuple[int, str] = (-1, "")
        self._first = 0
        self._found: list[tuple[int, int]] = []

    def see(self, version: int, actions: Sequence[Action]) -> None:
        """One more version file. What can't be read is left out."""
        nonce, previous = nonce_and_previous(actions)
        before, name = self._last
        if version != before + 1:
            self._first = version
        elif before >= 0 and previous and previous != name:
            self._found.append((before, self._first))
        self._last = version, nonce

    def found(self, anchors: Collection[int], reader: LogReader) -> list[int]:
        """The replaced versions, ascending. `anchors` are states and checkpoints.

        Cleaning takes the lowest versions first, up to an anchor. So no file came late above the lowest anchor, nor where all
        versions from the beginning are left.
        """
        lowest = min(anchors, default=-1)
        return [
            version
            for version, first in self._found
            if version > lowest or (first == 0 and keeps_its_beginning(reader))
        ]


def keeps_its_beginning(reader: LogReader) -> bool:
    """Whether version 0 didn't come late: then it would be the creation of another table."""
    try:
        return not began_another_table(reader, reader.latest())
    except HeadgateError:
        return False  # damage elsewhere, which is told there
