"""Drawn histories of a table that comes late: what an author was told of a proposal, everybody is told for ever.

The model is a list of all answers. It knows no rule of the committer's except that the answers agree with each other and with the
table.
"""

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_bus.interface import Topic
from headgate_committer.committer import Committer
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.events import ReceiptEvent
from headgate_schemas.messages.operations import Append, Committed, Create, Duplicate, Rejected
from headgate_schemas.messages.proposals import Proposal
from headgate_table.indextables.write.create import create_table
from support.committing.rig import TABLE, Rig
from support.tables import COLUMNS, add_file

CREATE = Create(schema_string_of(COLUMNS), ())
STEPS = st.lists(
    st.one_of(
        st.just(("append", 0)),
        st.tuples(st.just("again"), st.integers(0, 9)),
        st.just(("create", 0)),
        st.just(("made directly", 0)),
        st.just(("settle", 0)),
        st.just(("restart", 0)),
        st.just(("second group", 0)),
    ),
    min_size=3,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_no_answer_contradicts_an_earlier_one_whenever_the_table_is_made(steps: list[tuple[str, int]]) -> None:
    history = _History()
    for kind, number in steps:
        history.play(kind, number)
    history.end()


class _History:
    def __init__(self) -> None:
        self.rig = Rig(create=False)
        # Of a release that doesn't look around: two groups may answer.
        self.rig.bus.cluster.announces = False
        self._names = 0
        self._committer = self._started("committer")
        self._others: list[Committer] = []
        self._sent: list[Proposal] = []
        self._files: dict[str, str] = {}

    def play(self, kind: str, number: int) -> None:
        rig = self.rig
        match kind:
            case "append":
                name = f"f{len(self._sent)}"
                proposal = rig.proposal(Append((add_file(name),)))
                self._files[proposal.id] = add_file(name).path
                self._send(proposal)
            case "again" if self._sent:
                rig.send(self._sent[number % len(self._sent)])
            case "create":
                self._send(rig.proposal(CREATE))
            case "made directly" if not list(rig.stores[TABLE].list()):
                create_table(rig.table().reader, rig.ambient, CREATE)
            case "settle":
                rig.settle(self._committer)
            case "restart":
                self._committer.close()
                self._committer = self._started("committer")
            case "second group":
                self._others.append(self._started(f"group-{len(self._others)}"))
                rig.settle(self._others[-1])

    def end(self) -> None:
        """Everybody reads all that there is. Then all answers are compared."""
        for kind in ("settle", "restart", "settle", "second group"):
            self.play(kind, 0)
        self.rig._read[Topic.EVENTS] = 0
        told: dict[str, set[str]] = defaultdict(set)
        for event in self.rig.events():
            if isinstance(event, ReceiptEvent):
                told[event.proposal].add(_said(event))
        assert set(told) == {each.id for each in self._sent}, "everybody is told something"
        for identity, answers in told.items():
            assert len(answers) == 1, f"{identity} is told {answers}"
        files = [path for identity, path in self._files.items() if told[identity] == {"committed"}]
        live = self.rig.table().snapshot().paths() if list(self.rig.stores[TABLE].list()) else []
        assert sorted(live) == sorted(files), "the table holds what was told to be in it"

    def _send(self, proposal: Proposal) -> None:
        self._sent.append(proposal)
        self.rig.send(proposal)

    def _started(self, group: str) -> Committer:
        self._names += 1
        return self.rig.committer(f"one-{self._names}", group=group)


def _said(event: ReceiptEvent) -> str:
    match event.to_receipt():
        case Rejected(code=code):
            return code.value
        case Committed() | Duplicate():
            return "committed"
        case other:
            raise AssertionError(f"no such answer: {other}")
