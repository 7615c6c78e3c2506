"""A broker that is frozen, killed, rebuilt or secured, under the real client."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from headgate_bus.errors import BusError, BusUnavailable, Fenced, OffsetGone
from headgate_bus.interface import Extent, Message, Record, Seat, Topic
from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.kafka.bus import KafkaBus
from headgate_bus.kafka.clients import earlier_failure
from headgate_bus.kafka.deadline_calls import DeadlinePassed, KafkaCalls
from headgate_bus.kafka.records.publisher import PUBLISH_TIMEOUT_S, start_opening
from headgate_bus.kafka.records.records import as_sent
from headgate_schemas.ambient import SystemAmbient
from support.kafka.choice import with_prefix
from support.kafka.fixtures import new_bus_address
from support.kafka.local_broker import LocalBroker, running_broker
from support.processes.waiting import wait_until
from support.servers.processes import free_port

AMBIENT = SystemAmbient()
PROPOSALS, EVENTS = Topic.PROPOSALS, Topic.EVENTS
GROUP = "committers"
PATIENCE_S = 60.0
LATE_S = 15.0
"""How far past its deadline a call may end on a machine that is busy with other tests; without a deadline it never ends."""


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalBroker]:
    """A broker that tests may freeze and kill, as long as it answers again afterwards."""
    with running_broker() as started:
        yield started


@pytest.fixture
def bus(broker: LocalBroker) -> Iterator[KafkaBus]:
    """Whose group leaves a holder its place, however long a busy machine or a frozen broker keeps it waiting."""
    with prepared(broker, session_timeout_ms=60_000, max_poll_interval_ms=300_000) as made:
        yield made


@pytest.fixture
def hasty_bus(broker: LocalBroker) -> Iterator[KafkaBus]:
    """Whose group soon gives away what a holder has that doesn't poll."""
    with prepared(broker, session_timeout_ms=60_000) as made:
        yield made


@contextmanager
def prepared(broker: LocalBroker, **settings: object) -> Iterator[KafkaBus]:
    made = KafkaBus(new_bus_address(broker.address, **settings), AMBIENT)
    made.prepare()
    try:
        yield made
    finally:
        broker.thaw()
        made.close()


def message(body: str) -> Message:
    return Message("table", {"id": body}, body.encode())


def seated(bus: KafkaBus) -> Seat:
    seat = bus.seat(GROUP)
    wait_until(lambda: bool(seat.poll(0.1) or seat.held()), "the seat holds its partition")
    seat.seek(0, bus.committed(GROUP, 0) or 0)
    return seat


def bodies(records: Sequence[Record]) -> list[str]:
    return [record.body.decode() for record in records]


def everything(bus: KafkaBus, topic: Topic) -> list[str]:
    """What a new reader sees up to the end."""
    extents = {number: bus.extent(topic, number) for number in range(bus.partitions(topic))}
    reader = bus.reader(topic, {number: extent.first for number, extent in extents.items()})
    found: list[str] = []

    def read() -> bool:
        found.extend(bodies(reader.read(0.2)))
        return all(reader.offsets()[number] >= extent.next_offset for number, extent in extents.items())

    wait_until(read, "all records are read")
    reader.close()
    return found


def seconds_of(call: Callable[[], object]) -> float:
    start = AMBIENT.monotonic_s()
    with pytest.raises(BusUnavailable):
        call()
    return AMBIENT.monotonic_s() - start


def append_until_it_works(bus: KafkaBus, body: str) -> None:
    """A broker that was frozen may take its time on a busy machine. What got no answer may be there as well."""

    def append() -> bool:
        try:
            bus.append(PROPOSALS, [message(body)])
        except BusUnavailable:
            return False
        return True

    wait_until(append, "the broker takes messages again")


def publish_until_it_works(seat: Seat, event: str, next_offset: int | None) -> None:
    """By a seat that may have been taken for dead meanwhile, and joins again."""

    def publish() -> bool:
        try:
            seat.poll(0.1)
            seat.publish(0, [message(event)], [], next_offset)
        except (BusUnavailable, Fenced):
            return False
        return True

    wait_until(publish, "the seat publishes again")


def test_nobody_at_the_address_is_said_within_seconds_with_everything_that_looks_like_it() -> None:
    start = AMBIENT.monotonic_s()
    with pytest.raises(BusUnavailable) as caught:
        KafkaBus(f"kafka://127.0.0.1:{free_port()}", AMBIENT)
    assert AMBIENT.monotonic_s() - start < 4 + LATE_S
    for cause in ("sasl_plain_password", "ssl_cafile", "security_protocol"):
        assert cause in str(caught.value)


def test_a_failed_connection_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    with pytest.raises(BusUnavailable):
        KafkaBus(f"kafka://127.0.0.1:{free_port()}", AMBIENT)
    wait_until(
        lambda: {thread for thread in threading.enumerate() if thread.is_alive()} <= before, "its threads have ended"
    )


def test_an_append_to_a_frozen_broker_ends_by_its_deadline_and_works_again(broker: LocalBroker, bus: KafkaBus) -> None:
    bus.append(PROPOSALS, [message("before")])
    broker.freeze()
    took = seconds_of(lambda: bus.append(PROPOSALS, [message("during")], timeout_s=1.0))
    broker.thaw()
    assert took < 1.0 + LATE_S
    append_until_it_works(bus, "after")
    found = dict.fromkeys(everything(bus, PROPOSALS))
    assert [body for body in found if body != "during"] == ["before", "after"]


def test_questions_to_a_frozen_broker_end_by_their_deadline_and_work_again(broker: LocalBroker, bus: KafkaBus) -> None:
    broker.freeze()
    took = seconds_of(lambda: bus.extent(PROPOSALS, 0))
    broker.thaw()
    assert took < 10 + LATE_S

    def answered() -> bool:
        try:
            return bus.extent(PROPOSALS, 0).next_offset == 0
        except BusUnavailable:
            return False

    wait_until(answered, "the question is answered")


def test_a_publication_at_a_frozen_broker_ends_by_its_deadline_and_counts_once(
    broker: LocalBroker, bus: KafkaBus
) -> None:
    seat = seat_in_the_middle(bus)
    broker.freeze()
    took = seconds_of(lambda: seat.publish(0, [message("second")], [], 2))
    broker.thaw()
    assert took < PUBLISH_TIMEOUT_S + LATE_S
    publish_until_it_works(seat, "third", 2)
    assert everything(bus, EVENTS) in (["first", "third"], ["first", "second", "third"])
    assert bus.committed(GROUP, 0) == 2


def test_a_transaction_is_not_waited_for_longer_than_its_deadline(
    broker: LocalBroker, bus: KafkaBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: `publish` runs the transaction `within` an hour. The client itself doesn't give up before half a minute."""
    seat = seat_in_the_middle(bus)
    commit = KafkaProducer.commit_transaction
    topic = parse_kafka_address(bus.address).topic(EVENTS)

    def commit_with_a_record_on_its_way(producer: Any) -> None:
        producer.flush()
        broker.freeze()
        producer.send(topic, **as_sent(message("stuck")))
        commit(producer)

    monkeypatch.setattr(KafkaProducer, "commit_transaction", commit_with_a_record_on_its_way)
    began_s = AMBIENT.monotonic_s()
    with pytest.raises(DeadlinePassed, match="publishing for partition 0"):
        seat.publish(0, [message("second")], [], 2)
    took_s = AMBIENT.monotonic_s() - began_s
    monkeypatch.undo()
    broker.thaw()
    assert PUBLISH_TIMEOUT_S <= took_s < PUBLISH_TIMEOUT_S + LATE_S
    publish_until_it_works(seat, "third", 2)
    assert everything(bus, EVENTS) in (["first", "third"], ["first", "second", "stuck", "third"])
    assert bus.committed(GROUP, 0) == 2


def seat_in_the_middle(bus: KafkaBus) -> Seat:
    """Between two proposals. It knows so much of them that no question comes before its next transaction."""
    bus.append(PROPOSALS, [message("a"), message("b")])
    seat = seated(bus)
    polled: list[str] = []

    def poll() -> bool:
        polled.extend(bodies(seat.poll(0.2)))
        return len(polled) == 2

    wait_until(poll, "the proposals come")
    seat.publish(0, [message("first")], [], 1)
    return seat


def test_reading_from_a_frozen_broker_ends_by_its_deadline_and_goes_on(broker: LocalBroker, bus: KafkaBus) -> None:
    reader = bus.reader(PROPOSALS, {0: 0})
    reader.read(0.1)
    broker.freeze()
    start = AMBIENT.monotonic_s()
    found = reader.read(1.0)
    took = AMBIENT.monotonic_s() - start
    broker.thaw()
    assert (found, took < 1.0 + LATE_S) == ([], True)
    append_until_it_works(bus, "after")
    wait_until(lambda: "after" in bodies(reader.read(0.2)), "what came after is read")


def test_a_seat_at_a_frozen_broker_polls_and_closes_in_time(broker: LocalBroker, bus: KafkaBus) -> None:
    seat = seated(bus)
    broker.freeze()
    start = AMBIENT.monotonic_s()
    seat.poll(1.0)
    polled = AMBIENT.monotonic_s() - start
    seat.close()
    closed = AMBIENT.monotonic_s() - start - polled
    broker.thaw()
    assert (polled < 1.0 + LATE_S, closed < 3.0 + LATE_S) == (True, True)


def test_acknowledged_appends_outlive_the_broker_once_each(broker: LocalBroker, bus: KafkaBus) -> None:
    acknowledged: list[str] = []
    stopping = threading.Event()

    def append() -> None:
        number = 0
        while not stopping.is_set():
            number += 1
            try:
                bus.append(PROPOSALS, [message(str(number))], timeout_s=5.0)
            except BusUnavailable:
                continue
            acknowledged.append(str(number))

    writer = threading.Thread(target=append)
    writer.start()
    try:
        for _ in range(2):
            target = len(acknowledged) + 20
            wait_until(lambda target=target: len(acknowledged) >= target, f"{target} are acknowledged")  # type: ignore[misc]  # bound per turn
            broker.kill()
            broker.start()
        target = len(acknowledged) + 20
        wait_until(lambda: len(acknowledged) >= target, f"{target} are acknowledged")
    finally:
        stopping.set()
        writer.join()
    found = everything(bus, PROPOSALS)
    assert [found.count(number) for number in acknowledged] == [1] * len(acknowledged)


def test_a_holder_that_doesnt_poll_is_fenced_by_its_successor(hasty_bus: KafkaBus) -> None:
    first = seated(hasty_bus)
    second = seated(hasty_bus)
    second.publish(0, [message("second")], [], None)
    with pytest.raises(Fenced):
        first.publish(0, [message("first")], [], None)
    assert everything(hasty_bus, EVENTS) == ["second"]


def test_a_holder_whose_client_hears_of_it_before_the_commit_is_fenced(
    bus: KafkaBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place in the group is its own all the while: only whoever publishes there has changed."""
    first = seated(bus)
    calls = KafkaCalls()
    successor = calls.result(
        start_opening(parse_kafka_address(bus.address), calls, GROUP, 0), PATIENCE_S, "opening a second publisher"
    )
    commit = KafkaProducer.commit_transaction
    told: list[BaseException | None] = []

    def commit_late(producer: Any) -> None:
        wait_until(lambda: earlier_failure(producer) is not None, "the client hears of it", PUBLISH_TIMEOUT_S)
        told.append(earlier_failure(producer))
        commit(producer)

    monkeypatch.setattr(KafkaProducer, "commit_transaction", commit_late)
    with pytest.raises(Fenced):
        first.publish(0, [message("first")], [], None)
    assert len(told) == 1
    assert first.held() == frozenset()
    successor.close()


def test_a_successor_is_not_fenced_by_one_that_was_away(hasty_bus: KafkaBus) -> None:
    first = seated(hasty_bus)
    second = seated(hasty_bus)
    with pytest.raises(Fenced):
        first.publish(0, [message("first")], [], None)
    second.publish(0, [message("second")], [], None)
    assert everything(hasty_bus, EVENTS) == ["second"]


def test_a_seat_is_taken_however_short_the_polls_are(bus: KafkaBus) -> None:
    seat = bus.seat(GROUP)
    wait_until(lambda: bool(seat.poll(0.01) or seat.held()), "the seat holds its partition")
    assert seat.held() == {0}


def test_an_offset_below_the_first_is_gone_and_never_replaced(bus: KafkaBus) -> None:
    bus.append(PROPOSALS, [message(str(number)) for number in range(5)])
    reader = bus.reader(PROPOSALS, {0: 0})
    seat = seated(bus)
    seat.publish(0, [], [], 3)
    assert bus.committed(GROUP, 0) == 3  # which waits until others can see it
    bus.trim(0, 3)
    assert bus.extent(PROPOSALS, 0) == Extent(3, 5)
    with pytest.raises(OffsetGone) as caught:
        wait_until(lambda: bool(reader.read(0.2)), "it is read")
    assert (caught.value.offset, caught.value.first, caught.value.next_offset) == (0, 3, 5)


def test_a_topic_that_was_made_anew_is_another_source(broker: LocalBroker, bus: KafkaBus) -> None:
    before = bus.source(0)
    name = bus.address.partition("?")[0].rpartition("/")[2] + ".proposals"
    admin = KafkaAdminClient(bootstrap_servers=[broker.address.removeprefix("kafka://")])
    admin.delete_topics([name])
    wait_until(lambda: name not in admin.list_topics(), "the topic is gone")
    admin.close()
    bus.prepare()
    after = bus.source(0)
    assert (after.cluster, after.topic == before.topic) == (before.cluster, False)


def test_a_rebuilt_cluster_is_another_source(broker: LocalBroker, bus: KafkaBus) -> None:
    before = bus.source(0)
    broker.rebuild()
    bus.prepare()
    assert bus.source(0).cluster != before.cluster


def test_a_topic_that_is_set_up_wrongly_is_explained(broker: LocalBroker) -> None:
    bus = KafkaBus(new_bus_address(broker.address), AMBIENT)
    name = bus.address.partition("?")[0].rpartition("/")[2] + ".proposals"
    admin = KafkaAdminClient(bootstrap_servers=[broker.address.removeprefix("kafka://")])
    shape = {"num_partitions": 1, "replication_factor": 1, "configs": {"retention.ms": "1000"}}
    admin.create_topics({name: shape})
    with pytest.raises(BusError, match=rf"topic {name} isn't set up .* retention\.ms is 1000, but must be -1"):
        bus.prepare()
    with pytest.raises(BusError, match=r"\.events isn't there: prepare the bus first"):
        bus.faults()  # looks, and makes nothing
    admin.create_topics(
        {name.replace(".proposals", f".{topic.value}"): shape for topic in (EVENTS, Topic.DEAD_LETTERS)}
    )
    admin.close()
    wrong = bus.faults()
    assert len(wrong) == 3
    assert "retention.ms is 1000, but must be -1" in wrong[0]
    assert "retention.ms is 1000, but must be at least" in wrong[1]
    bus.close()


def test_two_processes_may_prepare_at_once(broker: LocalBroker) -> None:
    address = new_bus_address(broker.address)
    buses = [KafkaBus(address, AMBIENT) for _ in range(4)]
    threads = [threading.Thread(target=bus.prepare) for bus in buses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({bus.source(0) for bus in buses}) == 1
    for bus in buses:
        bus.close()


def test_a_secured_broker_is_used_by_login_over_tls_and_refuses_others() -> None:
    with running_broker(secured=True) as secured:
        bus = KafkaBus(with_prefix(secured.address, "safe"), AMBIENT)
        bus.prepare()
        bus.append(PROPOSALS, [message("a")])
        seat = seated(bus)
        wait_until(lambda: bodies(seat.poll(0.2)) == ["a"], "the proposal comes")
        seat.publish(0, [message("event")], [], 1)
        assert everything(bus, EVENTS) == ["event"]
        bus.close()
        password = secured.address.partition("sasl_plain_password=")[2].partition("&")[0]
        plain = secured.address.partition("?")[0]
        for wrong in (secured.address.replace(password, "wrong"), plain):
            with pytest.raises(BusUnavailable, match=r"sasl_plain_password.*ssl_cafile.*security_protocol") as caught:
                KafkaBus(wrong, AMBIENT)
            assert password not in str(caught.value)
        with pytest.raises(BusError, match="correct the address"):
            KafkaBus(secured.address.replace("certificate.pem", "missing.pem"), AMBIENT)
