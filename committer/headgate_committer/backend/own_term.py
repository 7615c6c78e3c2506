"""The term in which this committer writes to one table, whatever the table's format."""

from headgate_committer.errors import Overtaken
from headgate_table.coordination.commit_info import Term


def next_epoch(newest: Term | None) -> int:
    """The epoch of a new owner of a table whose log knows this term."""
    return 1 if newest is None else newest.epoch + 1


class OwnTerm:
    """Chosen when the table is loaded. The first version that is written in a term fixes it for the life of the process."""

    def __init__(self, uri: str, identity: str) -> None:
        self._uri = uri
        self._identity = identity
        self._written: Term | None = None

    @property
    def is_written(self) -> bool:
        """Whether a version was written in it."""
        return self._written is not None

    def first(self) -> Term:
        """The term of a table that is yet to be created."""
        return Term(1, self._identity)

    def upon(self, newest: Term | None) -> Term:
        """The term for a log that knows `newest`. Raises `Overtaken`."""
        self.check(newest)
        return self._written or Term(next_epoch(newest), self._identity)

    def write(self, term: Term) -> None:
        """A version was written in this term."""
        self._written = term

    def check(self, newest: Term | None, chosen: Term | None = None) -> None:
        """Raise `Overtaken` when the log knows a later term than the written one, or else than the one chosen at loading."""
        mine = self._written or chosen
        if mine is not None and newest is not None and newest > mine:
            raise Overtaken(
                f"{self._uri} is worked on by committer {newest.committer} in epoch {newest.epoch}, which came after "
                f"this one ({mine.committer}, epoch {mine.epoch}). This committer stops; nothing that it acknowledged is lost"
            )
