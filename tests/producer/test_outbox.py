"""The outbox: which proposal goes out when, and what becomes of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate_bus.interface import Message
from headgate_producer.delivery.outbox import TRANSITIONS, Outbox, OutboxLimits, Outgoing, Stage, Step
from headgate_producer.errors import NotSent
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Committed, RejectCode, Rejected, Writer
from headgate_table.errors import OutcomeUnknown

LIMITS = OutboxLimits(max_in_flight=5, batch_messages=3, batch_bytes=100, answer_within_s=60, first_pause_s=1)


def outgoing(identity: str, app: str | None = None, seq: int = 1, size: int = 10) -> Outgoing:
    writer = None if app is None else Writer(app, seq)
    return Outgoing(identity, writer, Message("table", {}, identity.encode()), size)


def outbox(*submitted: Outgoing, limits: OutboxLimits = LIMITS) -> Outbox:
    box = Outbox(limits)
    for out in submitted:
        box.submit(out, 0.0)
    return box


def ids(batch: list[Outgoing]) -> list[str]:
    return [out.proposal_id for out in batch]


def sent(box: Outbox) -> list[Outgoing]:
    batch = box.take(0.0)
    box.acknowledged(batch)
    return batch


def test_every_pair_of_stage_and_step_that_can_meet_is_in_the_table() -> None:
    impossible = {
        (Stage.QUEUED, Step.ACKNOWLEDGE),
        (Stage.QUEUED, Step.NO_ANSWER),
        *((stage, Step.TAKE) for stage in Stage if stage is not Stage.QUEUED),
        (Stage.SENT, Step.ACKNOWLEDGE),
        (Stage.SENT, Step.NO_ANSWER),
    }
    assert {(stage, step) for stage in Stage for step in Step} == set(TRANSITIONS) | impossible


def test_proposals_go_out_in_the_order_they_came() -> None:
    assert ids(outbox(outgoing("a"), outgoing("b"), outgoing("c")).take(0.0)) == ["a", "b", "c"]


def test_a_batch_ends_at_its_number_of_messages() -> None:
    box = outbox(*map(outgoing, "abcd"))
    assert (ids(box.take(0.0)), ids(box.take(0.0))) == (["a", "b", "c"], ["d"])


def test_a_batch_ends_before_it_is_too_large() -> None:
    box = outbox(outgoing("a", size=60), outgoing("b", size=60))
    assert (ids(box.take(0.0)), ids(box.take(0.0))) == (["a"], ["b"])


def test_a_message_that_is_larger_than_a_batch_goes_alone() -> None:
    assert ids(outbox(outgoing("a", size=1000)).take(0.0)) == ["a"]


def test_there_is_no_room_beyond_the_number_in_flight() -> None:
    box = outbox(*map(outgoing, "abcd"))
    assert box.has_room(10)
    box.submit(outgoing("e"), 0.0)
    assert not box.has_room(10)


def test_there_is_no_room_beyond_the_bytes_that_wait_for_the_bus() -> None:
    box = outbox(outgoing("a", size=10), limits=OutboxLimits(max_unsent_bytes=15))
    assert not box.has_room(10)
    sent(box)
    assert box.has_room(10)


def test_what_was_not_acknowledged_goes_out_again_before_all_others_and_as_it_was() -> None:
    a, b, c, d = map(outgoing, "abcd")
    box = outbox(a, b, c, d)
    messages = [a.message, b.message, c.message]
    box.unanswered(box.take(0.0), 0.0, 0.5)
    again = box.take(100.0)
    assert ids(again) == ["a", "b", "c"]
    assert [out.message for out in again] == messages


def test_after_a_failure_nothing_goes_out_before_the_pause_is_over() -> None:
    box = outbox(outgoing("a"))
    box.unanswered(box.take(0.0), 10.0, jitter=1.0)
    assert box.take(10.9) == []
    assert ids(box.take(11.0)) == ["a"]


def test_pauses_grow_up_to_their_bound() -> None:
    box = outbox(outgoing("a"), limits=OutboxLimits(first_pause_s=1, longest_pause_s=4))
    pauses, now = [], 0.0
    for _ in range(5):
        box.unanswered(box.take(now), now, jitter=1.0)
        due = box.next_send_s()
        assert due is not None
        pauses.append(due - now)
        now = due
    assert pauses == [1, 2, 4, 4, 4]


def test_a_receipt_settles_its_proposal_once() -> None:
    a = outgoing("a")
    box = outbox(a)
    sent(box)
    assert box.settle(Committed(7, "a")) is a
    assert box.settle(Committed(8, "a")) is None
    assert (a.stage, a.receipt, len(box)) == (Stage.SETTLED, Committed(7, "a"), 0)


def test_a_receipt_that_overtakes_the_acknowledgement_settles_its_proposal() -> None:
    a = outgoing("a")
    box = outbox(a)
    batch = box.take(0.0)
    box.settle(Committed(7, "a"))
    box.acknowledged(batch)
    assert a.stage is Stage.SETTLED


def test_what_was_settled_while_it_waited_to_be_sent_again_is_not_sent_again() -> None:
    box = outbox(outgoing("a"), outgoing("b"))
    box.unanswered(box.take(0.0), 0.0, 0.5)
    box.settle(Committed(7, "a"))
    assert ids(box.take(100.0)) == ["b"]


def test_the_receipt_of_a_stranger_changes_nothing() -> None:
    box = outbox(outgoing("a"))
    assert box.settle(Committed(7, "x")) is None
    assert len(box) == 1


def test_the_same_id_is_not_taken_twice_at_once() -> None:
    box = outbox(outgoing("a"))
    with pytest.raises(InvalidInput, match="a is in flight already"):
        box.submit(outgoing("a"), 0.0)


def test_a_proposal_without_a_receipt_is_given_up_at_its_deadline_with_its_name() -> None:
    a = outgoing("a")
    box = outbox(a)
    sent(box)
    assert box.expire(59.9) == []
    assert box.expire(60.0) == [a]
    assert isinstance(a.failure, OutcomeUnknown)
    assert a.failure.proposal_id == "a"


def test_a_proposal_that_no_attempt_was_made_to_send_is_known_not_to_be_sent() -> None:
    a = outgoing("a")
    outbox(a).expire(60.0)
    assert isinstance(a.failure, NotSent)


def test_a_refused_proposal_is_known_not_to_be_sent() -> None:
    a = outgoing("a")
    box = outbox(a)
    assert box.refused(box.take(0.0), "no such topic") == [a]
    assert isinstance(a.failure, NotSent)
    assert "no such topic" in str(a.failure)


def test_a_proposal_that_was_refused_after_an_attempt_without_an_answer_is_unknown() -> None:
    a = outgoing("a")
    box = outbox(a)
    box.unanswered(box.take(0.0), 0.0, 0.5)
    box.refused(box.take(100.0), "no such topic")
    assert isinstance(a.failure, OutcomeUnknown)


def test_an_attempt_that_never_reached_the_bus_is_none() -> None:
    a = outgoing("a")
    box = outbox(a)
    box.unanswered(box.take(0.0), 0.0, 0.5, may_have_arrived=False)
    box.expire(60.0)
    assert isinstance(a.failure, NotSent)


def test_giving_up_makes_room() -> None:
    box = outbox(*map(outgoing, "abcde"))
    box.give_up_all("closed")
    assert (len(box), box.has_room(10)) == (0, True)


def test_one_proposal_of_a_writer_is_in_flight_at_a_time() -> None:
    box = outbox(outgoing("a", "app", 1), outgoing("b", "app", 2), outgoing("c", "other", 1))
    assert ids(sent(box)) == ["a", "c"]
    box.settle(Committed(1, "a"))
    assert ids(box.take(0.0)) == ["b"]


def test_a_rejection_lets_the_next_of_the_writer_go() -> None:
    box = outbox(outgoing("a", "app", 1), outgoing("b", "app", 2))
    sent(box)
    box.settle(Rejected(RejectCode.INVALID, "no", "a"))
    assert ids(box.take(0.0)) == ["b"]


def test_a_proposal_that_is_settled_before_its_turn_does_not_hold_up_those_behind_it() -> None:
    """Its process was killed after sending it, and the receipt comes while it waits to be sent again."""
    box = outbox(outgoing("a", "app", 1), outgoing("b", "app", 2), outgoing("c", "app", 3))
    sent(box)
    box.settle(Committed(2, "b"))
    box.settle(Committed(1, "a"))
    assert ids(box.take(0.0)) == ["c"]


def test_what_waits_behind_a_lost_proposal_of_its_writer_is_not_sent() -> None:
    b = outgoing("b", "app", 2)
    box = outbox(outgoing("a", "app", 1), b, outgoing("c", "other", 1))
    sent(box)
    box.expire(60.0)
    assert isinstance(b.failure, NotSent)
    assert "proposal a of the same writer" in str(b.failure)


def lost_at_seq_1() -> Outbox:
    box = outbox(outgoing("a", "app", 1))
    sent(box)
    box.expire(60.0)
    return box


def test_a_later_seq_is_refused_while_the_outcome_of_an_earlier_one_is_open() -> None:
    with pytest.raises(NotSent, match="the outcome of seq 1 \\(proposal a\\) is not known"):
        lost_at_seq_1().submit(outgoing("b", "app", 2), 100.0)


def test_a_late_receipt_opens_the_way_for_later_seqs() -> None:
    box = lost_at_seq_1()
    box.settle(Committed(1, "a"))
    box.submit(outgoing("b", "app", 2), 100.0)
    assert ids(box.take(100.0)) == ["b"]


def test_a_late_receipt_still_reaches_the_proposal_that_was_given_up() -> None:
    a = outgoing("a", "app", 1)
    box = outbox(a)
    sent(box)
    box.expire(60.0)
    assert box.settle(Committed(1, "a")) is a
    assert a.receipt == Committed(1, "a")


@pytest.mark.parametrize("identity", ["a", "a-again"])
def test_the_lost_seq_can_be_proposed_again_and_later_ones_follow(identity: str) -> None:
    box = lost_at_seq_1()
    box.submit(outgoing(identity, "app", 1), 100.0)
    box.submit(outgoing("b", "app", 2), 100.0)
    assert ids(box.take(100.0)) == [identity]
    box.settle(Committed(1, identity))
    assert ids(box.take(100.0)) == ["b"]


def test_all_seqs_that_were_given_up_must_come_again_in_order() -> None:
    box = outbox(outgoing("a", "app", 1), outgoing("b", "app", 2))
    sent(box)
    box.expire(60.0)
    box.settle(Committed(1, "a"))
    with pytest.raises(NotSent, match="seq 2"):
        box.submit(outgoing("c", "app", 3), 100.0)
    box.submit(outgoing("b2", "app", 2), 100.0)
    box.submit(outgoing("c", "app", 3), 100.0)
    assert ids(box.take(100.0)) == ["b2"]


@given(st.lists(st.tuples(st.integers(1, 90), st.booleans()), min_size=1, max_size=5))
@settings(max_examples=50, deadline=None)
def test_bytes_that_wait_for_the_bus_are_counted_back_to_nothing(sizes: list[tuple[int, bool]]) -> None:
    box = outbox(*(outgoing(str(number), size=size) for number, (size, _) in enumerate(sizes)))
    for number, (_, arrives) in enumerate(sizes):
        batch = box.take(1000.0 * number)
        if arrives:
            box.acknowledged(batch)
        else:
            box.unanswered(batch, 1000.0 * number, 0.5)
    box.give_up_all("closed")
    assert box.has_room(LIMITS.max_unsent_bytes)


class AnyHistory(RuleBasedStateMachine):
    """Any order of events. The bus keeps what arrived; what it decides follows the rule of seqs."""

    def __init__(self) -> None:
        super().__init__()
        self.box = Outbox(OutboxLimits(max_in_flight=6, batch_messages=2, answer_within_s=50))
        self.now = 0.0
        self.made = 0
        self.bodies: dict[str, bytes] = {}
        self.batches: list[list[Outgoing]] = []
        self.arrived: list[Outgoing] = []
        self.all: list[Outgoing] = []
        self.seqs: dict[str, int] = {}

    @precondition(lambda self: self.box.has_room(10))
    @rule(app=st.sampled_from([None, "x", "y"]))
    def submit(self, app: str | None) -> None:
        self.made += 1
        seq = self.seqs.get(app or "", 0) + 1
        out = outgoing(f"p{self.made}", app, seq)
        try:
            self.box.submit(out, self.now)
        except NotSent:
            return
        self.seqs[app or ""] = seq
        self.all.append(out)

    @rule()
    def take(self) -> None:
        batch = self.box.take(self.now)
        for out in batch:
            assert out.message is not None
            assert self.bodies.setdefault(out.proposal_id, out.message.body) == out.message.body
        if batch:
            self.batches.append(batch)

    @precondition(lambda self: self.batches)
    @rule(arrives=st.booleans(), answered=st.booleans())
    def answer(self, arrives: bool, answered: bool) -> None:
        batch = self.batches.pop()
        if arrives or answered:
            self.arrived += batch
        if answered:
            self.box.acknowledged(batch)
        else:
            self.box.unanswered(batch, self.now, 0.5)

    @precondition(lambda self: self.arrived)
    @rule()
    def settle(self) -> None:
        out = self.arrived.pop(0)
        self.box.settle(Committed(1, out.proposal_id))

    @rule(seconds=st.integers(1, 20))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        self.box.expire(self.now)

    @invariant()
    def one_of_a_writer_is_out(self) -> None:
        out = [each.writer.app for each in self.all if each.writer and each.attempts and not each.has_ended]
        assert len(out) == len(set(out))

    @invariant()
    def no_seq_went_out_past_an_open_one(self) -> None:
        for app in ("x", "y"):
            mine = [each for each in self.all if each.writer is not None and each.writer.app == app]
            gone = [each for each in mine if each.attempts]
            for each in gone[:-1]:
                assert each.stage is Stage.SETTLED

    @invariant()
    def what_has_not_ended_is_counted(self) -> None:
        assert len(self.box) == sum(not out.has_ended for out in self.all)

    @invariant()
    def what_ended_badly_says_why(self) -> None:
        assert all(out.failure is not None for out in self.all if out.stage is Stage.GIVEN_UP)


AnyHistory.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAnyHistory = AnyHistory.TestCase
