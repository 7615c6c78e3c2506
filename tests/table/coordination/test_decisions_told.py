"""Who asks the log for a proposal is told what the committer told, whoever sent the id and the seq before.

The model knows two rules: an id has one decision, and a seq of an app is committed once. The id counts first.
"""

from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_table.indextables.recovery.decisions import find_decision
from support.logs.decided_logs import accepted, by_committer, fresh_reader, rejected, write_log
from support.stores.memory import MemoryStore

IDS = st.sampled_from("abc")
WRITERS = st.one_of(st.none(), st.builds(Writer, st.sampled_from(["w", "v"]), st.integers(0, 3)))
Sent = tuple[str, Writer | None]


class Model:
    """What a committer tells who proposes; each acceptance is a version of its own."""

    def __init__(self) -> None:
        self.versions: list[list] = []  # type: ignore[type-arg]  # actions
        self.ids: dict[str, Receipt] = {}
        self.seqs: dict[Writer, int] = {}
        self.told: dict[Sent, Receipt] = {}

    def propose(self, identity: str, writer: Writer | None, refused: bool) -> None:
        answer = self.answer(identity, writer) or self._decide(identity, writer, refused)
        self.told.setdefault((identity, writer), answer)

    def answer(self, identity: str, writer: Writer | None) -> Receipt | None:
        known = self.ids.get(identity)
        if known is not None:
            return Duplicate(known.version, identity) if isinstance(known, Committed) else known
        if writer is None or writer not in self.seqs:
            return None
        return Duplicate(self.seqs[writer], identity)

    def _decide(self, identity: str, writer: Writer | None, refused: bool) -> Receipt:
        number = len(self.versions) + 1
        decision = rejected(identity, "live", writer) if refused else accepted(identity, writer=writer)
        self.versions.append(by_committer(decision, first=number - 1, next_offset=number))
        if refused:
            self.ids[identity] = Rejected(RejectCode.PATH_IN_USE, "live", identity)
        else:
            self.ids[identity] = Committed(number, identity)
            if writer is not None:
                self.seqs[writer] = number
        return self.ids[identity]


@given(st.lists(st.tuples(IDS, WRITERS, st.sampled_from([False, False, True])), max_size=8), IDS, WRITERS)
def test_the_log_tells_what_was_told(
    sent: list[tuple[str, Writer | None, bool]], other: str, who: Writer | None
) -> None:
    model = Model()
    for identity, writer, refused in sent:
        model.propose(identity, writer, refused)
    store = MemoryStore()
    write_log(store, model.versions)
    for (identity, writer), first in model.told.items():
        found = find_decision(fresh_reader(store), identity, writer)
        assert found is not None
        assert said(found) == said(model.answer(identity, writer) or first), (identity, writer)
    if (other, who) not in model.told:
        # Nobody sent it so. Without a writer, who asks may be the one that sent the id with one.
        assert said(find_decision(fresh_reader(store), other, who)) == said(model.answer(other, who))


def said(receipt: Receipt | None) -> tuple[str, int | RejectCode | None]:
    """`Committed` and `Duplicate` of one version say the same."""
    if receipt is None:
        return "nothing", None
    return ("refused", receipt.code) if isinstance(receipt, Rejected) else ("committed", receipt.version)
