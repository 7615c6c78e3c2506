"""A real broker that lost the newest proposals, or whose topic was made anew, and took as many others since: nothing that lies
there now is passed over, whether the committer was away or held its partition all the time.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

import headgate
from headgate.doctor.bus_checkup import examine_bus
from headgate.doctor.findings import Health
from headgate_bus.interface import Topic
from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.open import open_bus
from headgate_committer.committer import DEFAULT_GROUP
from headgate_committer.rebind.rebind import rebind
from headgate_producer.delivery.ticket import Ticket
from headgate_table.settings.options import table_options
from support.kafka.fixtures import new_bus_address
from support.kafka.local_broker import LocalBroker, running_broker
from support.kafka.surgery import cut_log, make_anew
from support.processes.waiting import wait_until
from support.torture.stage.children import Child
from support.torture.stage.scenes import Scene
from support.torture.stage.stage import AMBIENT, Stage, a_file, stage_on, stopped

PATIENCE_S = 120.0
SESSION_MS = 60_000
"""Longer than the broker is away: the committer that is frozen meanwhile keeps its place, and goes on where it was."""
NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalBroker]:
    """One that may be killed."""
    with running_broker() as broker:
        yield broker


@pytest.fixture
def stage(broker: LocalBroker, tmp_path: Path) -> Iterator[Stage]:
    root = tmp_path / "lake"
    root.mkdir()
    bus = new_bus_address(broker.address, partitions=1, session_timeout_ms=SESSION_MS, max_poll_interval_ms=300_000)
    with stage_on(Scene(tmp_path, bus, str(root), root)) as stage:
        yield stage


def decided(stage: Stage, names: Sequence[str] = NAMES) -> Child:
    """A committer that has settled one proposal after the other."""
    committer = stage.committer("first")
    with headgate.Producer(stage.scene.bus, stage.table) as producer:
        for name in names:
            assert isinstance(producer.append([a_file(name)]).wait(PATIENCE_S), headgate.Committed)
    with ExitStack() as stack:
        bus = open_bus(stage.scene.bus, AMBIENT)
        stack.callback(bus.close)
        wait_until(lambda: bus.committed(DEFAULT_GROUP, 0) == len(names), "everything is settled", PATIENCE_S)
    return committer


def lose_the_newest(stage: Stage, broker: LocalBroker, offset: int) -> None:
    """The broker dies, and comes back without the proposals from this offset on."""
    broker.kill()
    cut_log(broker, f"{parse_kafka_address(stage.scene.bus).prefix}.proposals", offset)
    broker.start()


def proposed(stage: Stage, *names: str) -> list[Ticket]:
    """They lie on the bus when this returns."""
    with ExitStack() as stack:
        bus = open_bus(stage.scene.bus, AMBIENT)
        stack.callback(bus.close)
        before = bus.extent(Topic.PROPOSALS, 0).next_offset
        producer = stage.producer()
        tickets = [producer.append([a_file(name)]) for name in names]
        wait_until(
            lambda: bus.extent(Topic.PROPOSALS, 0).next_offset >= before + len(names), "they are proposed", PATIENCE_S
        )
    return tickets


def is_held_until_a_rebind(stage: Stage, committer: Child, tickets: Sequence[Ticket], names: Sequence[str]) -> None:
    wait_until(lambda: committer.has_said("table_waits"), "the committer says that the table waits", PATIENCE_S)
    assert "headgate table rebind" in committer.said()
    bus = open_bus(stage.scene.bus, AMBIENT)
    report = rebind(bus, stage.opened().reader, AMBIENT, table_options)
    bus.close()
    assert report.version is not None, report.reason
    assert [type(ticket.wait(PATIENCE_S)) for ticket in tickets] == [headgate.Committed] * len(tickets)
    stopped(committer)
    assert sorted(stage.opened().snapshot().paths()) == sorted(f"part=a/{name}.parquet" for name in (*NAMES, *names))


def test_what_lies_below_the_committed_offset_since_a_cut_is_decided(stage: Stage, broker: LocalBroker) -> None:
    stopped(decided(stage))
    before = stage.opened().version
    lose_the_newest(stage, broker, 2)
    names = ("e", "f", "g", "h", "i")
    tickets = proposed(stage, *names)
    [found] = [one for one in examine_bus(stage.scene.bus, DEFAULT_GROUP, AMBIENT) if one.check.startswith("proposals")]
    assert found.health is Health.PROBLEM
    assert "the log holds something else there" in found.found
    committer = stage.committer("second")
    wait_until(lambda: committer.has_said("table_waits"), "the committer says that the table waits", PATIENCE_S)
    assert stage.opened().version == before
    is_held_until_a_rebind(stage, committer, tickets, names)


def test_a_committer_that_holds_the_partition_is_told_of_the_cut(stage: Stage, broker: LocalBroker) -> None:
    """Break: take what the client says for an outage; it says so once, and reads on behind what has come."""
    committer = decided(stage)
    before = stage.opened().version
    committer.freeze()
    lose_the_newest(stage, broker, 2)
    names = ("e", "f", "g", "h", "i")
    tickets = proposed(stage, *names)
    committer.thaw()
    wait_until(lambda: committer.has_said("table_waits"), "the committer says that the table waits", PATIENCE_S)
    assert stage.opened().version == before
    is_held_until_a_rebind(stage, committer, tickets, names)
    assert committer.heard["partition_lost"] == 0


@pytest.mark.parametrize("is_running", [True, False])
def test_a_topic_made_anew_that_has_grown_is_read_from_its_beginning(stage: Stage, is_running: bool) -> None:
    """One that runs looks every few seconds whether it is still the same topic; what it took before is decided, too, and once."""
    committer = decided(stage)
    if is_running:
        committer.freeze()
    else:
        stopped(committer)
    make_anew(stage.scene.bus)
    names = ("e", "f", "g", "h", "i", "j")
    tickets = proposed(stage, *names)
    if is_running:
        committer.thaw()
    else:
        committer = stage.committer("second")
    is_held_until_a_rebind(stage, committer, tickets, names)
