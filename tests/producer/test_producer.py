"""A producer without threads on a bus in memory: everything happens while somebody waits, in the same order each time."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from headgate_bus.claims import open_claim
from headgate_bus.interface import Topic
from headgate_producer.delivery.decision_lookup import DecisionLookup, NotToldInTime
from headgate_producer.errors import NotSent
from headgate_producer.producer import ROOM_WITHIN_S, Producer
from headgate_schemas.actions.actions import AddFile, SkipFile
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operation_bodies import body_of, operation_of
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    Committed,
    CompactState,
    Create,
    Delete,
    Duplicate,
    Isolation,
    Operation,
    Overwrite,
    Purge,
    Receipt,
    RejectCode,
    Rejected,
    Restore,
    Rewrite,
    Skip,
    Writer,
)
from headgate_schemas.messages.proposals import Proposal, encode_claimed
from headgate_table.errors import OutcomeUnknown, StoreError
from headgate_table.indextables.log.reader import LogReader
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.producer.deciding import Decider, receipt_message
from support.producer.failing_bus import FailingBus, Plan, Trouble, always, first, no_trouble
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.memory import MemoryStore
from support.tables import add_file, committer_of, fresh_resources, new_table

TABLE = "memory://lake/events"


class World:
    """A bus, a decider that works while others wait for the bus, and a producer."""

    def __init__(self, plan: Plan = no_trouble, **options: Any) -> None:
        self.ambient = FakeAmbient()
        self.memory = MemoryBus(self.ambient, wait=self.wait)
        self.memory.prepare()
        self.decider = Decider(self.memory.again())
        self.is_deciding = True
        self.bus = FailingBus(self.memory, plan)
        self.store = MemoryStore(uri=TABLE)
        self.producer = Producer(
            self.bus,
            TABLE,
            ambient=self.ambient,
            threads=False,
            store=self.store,
            resources=fresh_resources(),
            **options,
        )

    def wait(self, seconds: float) -> None:
        if self.is_deciding:
            self.decider.step()
        self.ambient.sleep(seconds)

    def pump_until_attempts(self, count: int) -> None:
        for _ in range(100):
            if len(self.bus.attempts) < count:
                self.producer._courier.pump(1)
        assert len(self.bus.attempts) == count

    def append(self, name: str = "a", **terms: Any) -> Any:
        return self.producer.append([add_file(name)], **terms)

    def sent_ids(self) -> list[list[str]]:
        return [[message.headers["ce_subject"] for message in batch] for batch in self.bus.attempts]


def test_a_wrong_seq_is_named_with_its_value() -> None:
    with pytest.raises(InvalidInput, match=r"writer.seq is True \(bool\); give a whole number"):
        World().producer.append([], writer=Writer("app", True))


def test_a_proposal_gets_its_receipt() -> None:
    world = World()
    ticket = world.append()
    assert not ticket.done
    assert ticket.wait(10) == Committed(1, ticket.proposal_id)
    assert ticket.done


def test_the_message_says_who_proposes_what_to_which_table() -> None:
    world = World(author="nightly")
    ticket = world.append(writer=Writer("app", 3), based_on=2, reads="region = 'eu'", isolation="serializable")
    ticket.wait(10)
    (message,) = world.bus.attempts[0]
    (proposal,) = world.decider.seen
    assert message.key == TABLE
    assert message.headers["ce_type"] == "headgate.proposal.v1"
    assert (message.headers["ce_id"], message.headers["ce_source"]) == (ticket.proposal_id, "nightly")
    assert (proposal.id, proposal.table, proposal.author) == (ticket.proposal_id, TABLE, "nightly")
    assert (proposal.written_by, proposal.based_on, proposal.reads) == (Writer("app", 3), 2, "region = 'eu'")
    assert proposal.isolation == Isolation.SERIALIZABLE.value


SKIP = SkipFile("a.parquet", 1, "unreadable", "merge")
OPERATIONS: dict[str, tuple[Callable[[Producer], Any], Operation]] = {
    "append": (lambda p: p.append([add_file("a")]), Append((add_file("a"),))),
    "overwrite": (lambda p: p.overwrite([add_file("a")], "x = 1"), Overwrite((add_file("a"),), "x = 1")),
    "delete": (lambda p: p.delete(paths=["a.parquet"]), Delete(("a.parquet",))),
    "delete where": (lambda p: p.delete("x = 1"), Delete((), "x = 1")),
    "rewrite": (lambda p: p.rewrite(["a.parquet"], [add_file("b")]), Rewrite(("a.parquet",), (add_file("b"),))),
    "restore": (lambda p: p.restore(4), Restore(4)),
    "skip": (lambda p: p.skip([SKIP]), Skip((SKIP,))),
    "alter": (lambda p: p.alter(based_on=3, configuration={"k": None}), Alter(3, {"k": None})),
    "create": (
        lambda p: p.create("id BIGINT, day DATE", ["day"], {"k": "v"}, name="events"),
        Create(schema_string_of("id BIGINT, day DATE"), ("day",), {"k": "v"}, "events"),
    ),
    "compact_state": (lambda p: p.compact_state(CompactState(5, ("m",), ())), CompactState(5, ("m",), ())),
    "purge": (lambda p: p.purge(["a.parquet"]), Purge(("a.parquet",))),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_arrives_as_it_was_asked_for(name: str) -> None:
    ask, expected = OPERATIONS[name]
    world = World()
    ask(world.producer).wait(10)
    (proposal,) = world.decider.seen
    assert proposal.operation is not None
    assert operation_of(proposal.operation) == expected


BAD: dict[str, Callable[[Producer], Any]] = {
    "a path for a file": lambda p: p.append(["a.parquet"]),  # type: ignore[list-item]  # the point
    "one file for a list": lambda p: p.append(add_file("a")),  # type: ignore[arg-type]  # the point
    "a text for a list": lambda p: p.purge("a.parquet"),
    "neither paths nor where": lambda p: p.delete(),
    "alter without based_on": lambda p: p.alter(description="x"),
    "serializable without based_on": lambda p: p.append([], isolation="serializable"),
    "an unknown isolation": lambda p: p.append([], isolation="dirty"),
    "a writer that is a text": lambda p: p.append([], writer="app:1"),  # type: ignore[arg-type]  # the point
    "a negative seq": lambda p: p.append([], writer=Writer("app", -1)),
    "a seq that is true": lambda p: p.append([], writer=Writer("app", True)),
    "an app that is a number": lambda p: p.append([], writer=Writer(7, 1)),  # type: ignore[arg-type]  # the point
    "an id with spaces": lambda p: p.append([], proposal_id="a b"),
    "no operation": lambda p: p.propose("append"),  # type: ignore[arg-type]  # the point
    "a partition column that is no column": lambda p: p.create("id BIGINT", ["day"]),
    "a negative version": lambda p: p.restore(-1),
    "a size that is a text": lambda p: p.append([AddFile("a", {}, "1", 1)]),  # type: ignore[arg-type]  # the point
    "a number where a map should be": lambda p: p.append([AddFile("a", 7, 1, 1)]),  # type: ignore[arg-type]  # the point
    "a mistyped term": lambda p: p.append([], isolaton="serializable"),  # type: ignore[call-arg]  # the point
    "a setting that is no text": lambda p: p.create("id BIGINT", configuration={"checkpoint.interval": 5}),  # type: ignore[dict-item]  # the point
    "too many files": lambda p: p.purge(["a"] * 200_001),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_is_sent(name: str) -> None:
    world = World()
    with pytest.raises(InvalidInput):
        BAD[name](world.producer)
    world.producer.close()
    assert world.bus.attempts == []


def test_a_rejection_is_a_receipt() -> None:
    def refuse(proposal: Proposal, version: int) -> Receipt:
        return Rejected(RejectCode.PATH_IN_USE, "a.parquet is live already", proposal.id)

    world = World()
    world.decider = Decider(world.memory.again(), refuse)
    ticket = world.append()
    assert ticket.wait(10) == Rejected(RejectCode.PATH_IN_USE, "a.parquet is live already", ticket.proposal_id)


def test_a_repeated_seq_is_a_duplicate() -> None:
    world = World()
    world.append("a", writer=Writer("app", 1)).wait(10)
    ticket = world.append("b", writer=Writer("app", 1))
    assert ticket.wait(10) == Duplicate(1, ticket.proposal_id)


def test_many_proposals_go_out_in_one_batch_and_in_order() -> None:
    world = World()
    tickets = [world.append(str(number)) for number in range(20)]
    assert [ticket.wait(10).version for ticket in tickets] == list(range(1, 21))
    assert world.sent_ids() == [[ticket.proposal_id for ticket in tickets]]


@pytest.mark.parametrize("trouble", [Trouble.LOST, Trouble.UNANSWERED])
def test_without_an_acknowledgement_the_same_messages_are_sent_again(trouble: Trouble) -> None:
    world = World(first("append", trouble, trouble))
    world.is_deciding = False
    tickets = [world.append("a"), world.append("b")]
    world.pump_until_attempts(3)
    world.is_deciding = True
    assert [ticket.wait(60).version for ticket in tickets] == [1, 2]
    assert len(world.bus.attempts) == 3
    assert world.bus.attempts[0] == world.bus.attempts[1] == world.bus.attempts[2]


def test_a_lost_acknowledgement_ends_with_the_version_of_the_first_decision() -> None:
    world = World(first("append", Trouble.UNANSWERED))
    ticket = world.append()
    assert ticket.wait(60).version == 1
    assert world.decider.version == 1


def test_a_receipt_that_comes_while_the_bus_gives_no_acknowledgement_is_enough() -> None:
    world = World(always("append", Trouble.UNANSWERED))
    world.producer._follower.mark()
    ticket = world.append()
    assert ticket.wait(60).version == 1


def test_what_the_bus_refuses_was_not_sent() -> None:
    world = World(first("append", Trouble.REFUSED))
    ticket = world.append()
    with pytest.raises(NotSent, match="the bus refused it"):
        ticket.wait(60)


def test_a_bus_without_topics_refuses_what_is_proposed() -> None:
    ambient = FakeAmbient()
    producer = Producer(MemoryBus(ambient), TABLE, ambient=ambient, threads=False, store=MemoryStore(uri=TABLE))
    with pytest.raises(NotSent, match="no topic events"):
        producer.append([]).wait(60)


def test_events_are_followed_from_before_the_first_proposal() -> None:
    world = World()
    ticket = world.append()
    world.producer._courier.send_once()
    world.decider.step()
    assert ticket.wait(10).version == 1


def test_receipts_of_others_and_commits_are_passed_over() -> None:
    world = World()
    ticket = world.append()
    world.memory.append(Topic.EVENTS, [receipt_message(Committed(9, "stranger"), TABLE)])
    assert ticket.wait(10).version == 1


def test_repeated_receipts_change_nothing() -> None:
    world = World()
    ticket = world.append()
    first_receipt = ticket.wait(10)
    world.memory.append(Topic.EVENTS, [receipt_message(first_receipt, TABLE)] * 3)
    other = world.append("b")
    assert other.wait(10).version == 2
    assert ticket.wait(10) == first_receipt


def test_a_receipt_that_nobody_can_read_is_passed_over() -> None:
    world = World()
    ticket = world.append()
    broken = receipt_message(Committed(1, ticket.proposal_id), TABLE)
    world.producer._follower.mark()
    world.memory.append(Topic.EVENTS, [type(broken)(broken.key, broken.headers, b"{")])
    assert ticket.wait(10).version == 1


@pytest.mark.parametrize("call", ["read", "reader", "extent"])
def test_events_that_can_not_be_read_for_a_while_are_read_later(call: str) -> None:
    world = World(first(call, Trouble.LOST, Trouble.LOST))
    assert world.append().wait(60).version == 1


def test_past_its_time_the_outcome_is_unknown_and_names_the_proposal() -> None:
    world = World()
    world.is_deciding = False
    ticket = world.append()
    with pytest.raises(OutcomeUnknown, match=ticket.proposal_id) as caught:
        ticket.wait(5)
    assert caught.value.proposal_id == ticket.proposal_id


def test_waiting_ends_at_its_time() -> None:
    world = World()
    world.is_deciding = False
    before = world.ambient.monotonic_s()
    with pytest.raises(OutcomeUnknown):
        world.append().wait(5)
    assert 5 <= world.ambient.monotonic_s() - before < 6


def test_waiting_without_a_time_ends_with_the_proposals_own() -> None:
    world = World(answer_within_s=30)
    world.is_deciding = False
    ticket = world.append()
    with pytest.raises(OutcomeUnknown, match="within 30 s"):
        ticket.wait()


def test_a_proposal_whose_time_ran_out_before_anybody_sent_it_has_ended_and_may_be_proposed_again() -> None:
    world = World(answer_within_s=30)
    ticket = world.append()
    world.ambient.sleep(60)
    with pytest.raises(NotSent, match="may be proposed again"):
        ticket.wait()
    assert ticket.done
    assert world.append(proposal_id=ticket.proposal_id).wait(5).version == 1


def test_a_ticket_can_be_waited_for_again() -> None:
    world = World()
    world.is_deciding = False
    ticket = world.append()
    with pytest.raises(OutcomeUnknown):
        ticket.wait(5)
    world.is_deciding = True
    assert ticket.wait(5).version == 1
    assert len(world.bus.attempts) == 1


def test_the_outcome_of_an_earlier_proposal_can_be_asked_for() -> None:
    world = World()
    ticket = world.append()
    receipt = ticket.wait(10)
    assert world.producer.outcome(ticket.proposal_id) == receipt


def test_the_outcome_is_known_by_a_receipt_that_nobody_waited_for() -> None:
    world = World()
    ticket = world.append()
    world.producer._courier.pump(1)
    world.decider.step()
    assert world.producer.outcome(ticket.proposal_id).version == 1  # type: ignore[union-attr]  # nothing is rejected


def test_the_outcome_of_what_nobody_knows_is_unknown() -> None:
    with pytest.raises(OutcomeUnknown) as caught:
        World().producer.outcome("nobody")
    assert caught.value.proposal_id == "nobody"


def test_beyond_those_in_flight_a_proposal_waits_for_room() -> None:
    world = World(max_in_flight=2)
    tickets = [world.append(str(number)) for number in range(5)]
    assert [ticket.wait(10).version for ticket in tickets] == [1, 2, 3, 4, 5]


def test_waiting_for_room_has_an_end() -> None:
    world = World(max_in_flight=2)
    world.is_deciding = False
    world.append("a")
    world.append("b")
    before = world.ambient.monotonic_s()
    with pytest.raises(NotSent, match="max_in_flight is 2"):
        world.append("c")
    assert world.ambient.monotonic_s() - before < ROOM_WITHIN_S + 1


def test_proposals_of_a_writer_follow_one_another() -> None:
    world = World()
    tickets = [world.append(str(seq), writer=Writer("app", seq)) for seq in (1, 2, 3)]
    assert [ticket.wait(10).version for ticket in tickets] == [1, 2, 3]
    assert [len(batch) for batch in world.sent_ids()] == [1, 1, 1]


def test_the_next_of_a_writer_is_not_sent_before_the_receipt_of_the_one_before() -> None:
    world = World()
    world.is_deciding = False
    world.append("a", writer=Writer("app", 1))
    behind = world.append("b", writer=Writer("app", 2))
    with pytest.raises(OutcomeUnknown, match="still to be sent"):
        behind.wait(5)
    assert len(world.bus.attempts) == 1


def test_trimmed_events_are_made_up_for_by_the_table() -> None:
    world = World()
    table = new_table(world.store)
    world.decider.announce = False
    ticket = world.append()
    world.is_deciding = False
    world.producer._courier.pump(1)
    receipt = committer_of(table).commit(Append((add_file("a"),)), ticket.proposal_id)
    world.memory.append(Topic.EVENTS, [receipt_message(receipt, TABLE)] * 2)
    world.memory.cluster.truncate(Topic.EVENTS, 0, 2)
    before = world.ambient.monotonic_s()
    assert ticket.wait(10) == receipt
    assert world.ambient.monotonic_s() - before < 1  # at once, not when its time was over


def test_past_its_time_the_table_is_asked() -> None:
    world = World()
    table = new_table(world.store)
    world.is_deciding = False
    ticket = world.append()
    receipt = committer_of(table).commit(Append((add_file("a"),)), ticket.proposal_id)
    assert ticket.wait(5) == receipt
    assert ticket.done


def test_another_process_finds_the_outcome_in_the_table() -> None:
    world = World()
    table = new_table(world.store)
    receipt = committer_of(table).commit(Append((add_file("a"),)), "of-another-process")
    assert world.producer.outcome("of-another-process") == receipt


def large(count: int = 5_000) -> list[str]:
    return [f"{number:08d}-{'x' * 100}.parquet" for number in range(count)]


def test_a_large_operation_lies_on_the_store_before_it_is_proposed() -> None:
    world = World(first("append", Trouble.UNANSWERED))
    world.is_deciding = False
    ticket = world.producer.purge(large())
    world.pump_until_attempts(2)
    world.is_deciding = True
    ticket.wait(60)
    (proposal, repeated) = world.decider.seen
    claim = proposal.claim
    assert claim is not None
    assert (claim.files, repeated) == (5_000, proposal)
    assert open_claim(world.store, claim) == encode_claimed(body_of(Purge(tuple(large()))))
    assert [info.key for info in world.store.list("_headgate/claims/")] == [claim.key]


def test_where_a_claim_can_not_be_laid_down_nothing_is_sent() -> None:
    world = World()
    world.producer = Producer(
        world.bus,
        TABLE,
        ambient=world.ambient,
        threads=False,
        store=FaultyStore(world.store, on("put", Fault.REFUSED)),
    )
    with pytest.raises(StoreError):
        world.producer.purge(large())
    assert (len(world.producer._flight), world.bus.attempts) == (0, [])


def test_closing_waits_for_receipts() -> None:
    world = World()
    with world.producer:
        ticket = world.append()
    assert ticket.done
    assert ticket.wait(0).version == 1


def test_closing_ends_though_nobody_answers() -> None:
    world = World()
    world.is_deciding = False
    ticket = world.append()
    before = world.ambient.monotonic_s()
    world.producer.close(3)
    assert world.ambient.monotonic_s() - before < 4
    assert ticket.done
    with pytest.raises(OutcomeUnknown, match="closed before its receipt came") as told:
        ticket.wait(5)
    assert str(told.value).count("nobody knows") == 1


def test_closing_on_a_dead_bus_ends_and_says_what_was_not_sent() -> None:
    world = World(always("extent", Trouble.LOST))
    ticket = world.append()
    world.producer.close(3)
    with pytest.raises(NotSent, match="may be proposed again"):
        ticket.wait(5)


def test_a_closed_producer_takes_nothing() -> None:
    world = World()
    world.producer.close()
    with pytest.raises(NotSent, match="closed"):
        world.append()


def test_a_proposal_can_be_proposed_again_under_its_id() -> None:
    world = World(answer_within_s=5)
    world.is_deciding = False
    ticket = world.append()
    with pytest.raises(OutcomeUnknown):
        ticket.wait()
    world.is_deciding = True
    again = world.append(proposal_id=ticket.proposal_id)
    assert again.wait(5).version == 1
    assert len(world.decider.receipts) == 1


def test_every_spelling_of_a_table_leads_to_one_key() -> None:
    ambient = FakeAmbient()
    bus = MemoryBus(ambient)
    spellings = ["s3://lake/events", "s3a://lake/events/", "S3://lake/events", "s3://lake//events"]
    assert {Producer(bus, uri, ambient=ambient, threads=False).table for uri in spellings} == {"s3://lake/events"}


def test_an_address_that_no_store_understands_is_refused() -> None:
    ambient = FakeAmbient()
    with pytest.raises(InvalidInput, match="Did you mean s3"):
        Producer(MemoryBus(ambient), "s4://lake/events", ambient=ambient, threads=False)


@pytest.mark.parametrize(("bus", "table"), [(None, TABLE), (3, TABLE), ("sqlite:bus.db", None)])
def test_what_is_no_address_is_refused_at_once(bus: Any, table: Any) -> None:
    with pytest.raises(InvalidInput, match="give its address"):
        Producer(bus, table)


def test_a_store_that_hangs_is_not_waited_for_when_the_table_is_asked() -> None:
    asked = threading.Event()
    answer = threading.Event()

    def hanging() -> LogReader:
        asked.set()
        answer.wait(60)
        raise StoreError("too late")

    past = DecisionLookup(hanging, FakeAmbient())
    with pytest.raises(NotToldInTime, match="within"):
        past.find_within(0.01, "p", None)
    assert asked.wait(10)
    with pytest.raises(NotToldInTime, match="earlier"):
        past.find_within(0.01, "p", None)
    answer.set()
