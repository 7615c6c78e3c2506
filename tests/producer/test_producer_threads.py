"""A producer with its threads, shared by many, on a bus in memory that a decider works at."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headgate_bus.interface import Topic
from headgate_producer.errors import NotSent
from headgate_producer.producer import Producer
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Committed, Rejected, Writer
from headgate_table.errors import OutcomeUnknown
from support.bus.memory import MemoryBus
from support.processes.waiting import wait_until
from support.producer.deciding import Decider, DecidingThread
from support.producer.failing_bus import FailingBus, Plan, Trouble, always, no_trouble
from support.stores.memory import MemoryStore
from support.tables import add_file

TABLE = "memory://lake/events"
PATIENCE_S = 60.0
"""Only a failing test waits that long."""


@pytest.fixture
def memory() -> Iterator[MemoryBus]:
    bus = MemoryBus(SystemAmbient())
    bus.prepare()
    yield bus
    bus.close()


def producer_on(memory: MemoryBus, plan: Plan = no_trouble, **options: Any) -> Producer:
    return Producer(FailingBus(memory.again(), plan), TABLE, store=MemoryStore(uri=TABLE), **options)


def proposed(memory: MemoryBus) -> int:
    return memory.extent(Topic.PROPOSALS, 0).next_offset


def test_many_threads_share_a_producer(memory: MemoryBus) -> None:
    def propose(worker: int) -> list[int]:
        tickets = [producer.append([add_file(f"{worker}-{number}")]) for number in range(50)]
        return [receipt.version for ticket in tickets if isinstance(receipt := ticket.wait(PATIENCE_S), Committed)]

    with (
        DecidingThread(Decider(memory.again())),
        producer_on(memory, max_in_flight=40) as producer,
        ThreadPoolExecutor(8) as pool,
    ):
        versions = [version for found in pool.map(propose, range(8)) for version in found]
    assert sorted(versions) == list(range(1, 401))


def test_a_bus_that_loses_every_other_answer_changes_no_outcome(memory: MemoryBus) -> None:
    def plan(call: str, number: int) -> Trouble | None:
        if call not in ("append", "read") or number % 2 == 0:
            return None
        return Trouble.UNANSWERED if number % 4 == 1 else Trouble.LOST

    with DecidingThread(Decider(memory.again())) as decider, producer_on(memory, plan) as producer:
        tickets = [producer.append([add_file(str(number))]) for number in range(60)]
        receipts = [ticket.wait(PATIENCE_S) for ticket in tickets]
    assert [receipt.proposal_id for receipt in receipts] == [ticket.proposal_id for ticket in tickets]
    assert not any(isinstance(receipt, Rejected) for receipt in receipts)
    assert decider.version == 60


def test_proposals_of_a_writer_keep_their_order_whoever_waits(memory: MemoryBus) -> None:
    with DecidingThread(Decider(memory.again())) as decider, producer_on(memory) as producer:
        tickets = [producer.append([add_file(str(seq))], writer=Writer("app", seq)) for seq in range(1, 31)]
        tickets[-1].wait(PATIENCE_S)
    assert [proposal.writer.seq for proposal in decider.seen if proposal.writer] == list(range(1, 31))


def test_a_thread_that_waits_for_room_goes_on_when_there_is_some(memory: MemoryBus) -> None:
    with producer_on(memory, max_in_flight=1) as producer, ThreadPoolExecutor(1) as pool:
        producer.append([add_file("a")])
        second = pool.submit(producer.append, [add_file("b")])
        with DecidingThread(Decider(memory.again())):
            ticket = second.result(PATIENCE_S)
            assert ticket.wait(PATIENCE_S) == Committed(2, ticket.proposal_id)


def test_closing_with_unanswered_tickets_ends_and_wakes_who_waits(memory: MemoryBus) -> None:
    producer = producer_on(memory)
    ticket = producer.append([add_file("a")])
    wait_until(lambda: proposed(memory) == 1, "it has been sent")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ticket.wait, PATIENCE_S)
        producer.close(0.2)
        with pytest.raises(OutcomeUnknown) as caught:
            waiting.result(PATIENCE_S)
    assert caught.value.proposal_id == ticket.proposal_id


def test_closing_ends_the_threads(memory: MemoryBus) -> None:
    before = set(threading.enumerate())
    producer = producer_on(memory, always("extent", Trouble.LOST))
    ticket = producer.append([add_file("a")])
    assert len(set(threading.enumerate()) - before) == 2
    producer.close(0.2)
    wait_until(lambda: set(threading.enumerate()) <= before, "its threads have ended")
    with pytest.raises(NotSent):
        ticket.wait(0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_producer_whose_thread_has_died(memory: MemoryBus) -> None:
    def dies(call: str, number: int) -> Trouble | None:
        if call == "append":
            raise MemoryError("no more")
        return None

    producer = producer_on(memory, dies)
    ticket = producer.append([add_file("a")])
    with pytest.raises(OutcomeUnknown, match="no more"):
        ticket.wait(PATIENCE_S)
    with pytest.raises(NotSent, match="no more"):
        producer.append([add_file("b")])
    producer.close()


def test_events_that_come_long_after_are_still_followed(memory: MemoryBus) -> None:
    decider = Decider(memory.again())
    with producer_on(memory) as producer:
        ticket = producer.append([add_file("a")])
        wait_until(lambda: proposed(memory) == 1, "it has been sent")
        with pytest.raises(OutcomeUnknown):
            ticket.wait(0.6)
        assert decider.step() == 1
        assert ticket.wait(PATIENCE_S) == Committed(1, ticket.proposal_id)
    assert memory.extent(Topic.EVENTS, 0).next_offset == 1
