"""Checks a bus, and the committers that should be deciding its proposals."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from headgate.doctor.findings import DoctorFinding, Health, clock_finding
from headgate.doctor.place_checkup import disk_finding
from headgate_bus.errors import BusError
from headgate_bus.interface import Bus, SetUpByOthers, Topic
from headgate_bus.marks import look_again
from headgate_bus.open import open_bus
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError

LATE_AFTER_S = 60.0
"""A committer that works decides within seconds, also while its store is slow; restarts and take-overs take less than this."""
_READ_WITHIN_S = 10.0
_FILE = "sqlite://"


def examine_bus(
    address: str, group: str, ambient: Ambient, late_after_s: float = LATE_AFTER_S
) -> Iterator[DoctorFinding]:
    """Whether the bus answers, and whether this group of committers keeps up with it. Changes nothing."""
    try:
        with closing(open_bus(address, ambient)) as bus:
            count = bus.partitions(Topic.PROPOSALS)
            source = bus.source(0)
            yield DoctorFinding("bus", Health.OK, f"{bus.address} answers; topic {source.topic}, {count} partitions")
            yield _topics(bus)
            for partition in range(count):
                yield _backlog(bus, group, partition, ambient, late_after_s)
            yield from _clock(bus, count, ambient)
            if bus.address.startswith(_FILE):
                yield disk_finding("disk of the bus", Path(bus.address.removeprefix(_FILE)).parent)
    except HeadgateError as error:
        yield DoctorFinding("bus", Health.PROBLEM, str(error), "check the address, and that the bus runs")


def _topics(bus: Bus) -> DoctorFinding:
    counts = ", ".join(f"{topic.value}: {bus.partitions(topic)}" for topic in Topic)
    wrong = bus.faults() if isinstance(bus, SetUpByOthers) else ()
    if wrong:
        return DoctorFinding(
            "topics", Health.PROBLEM, " ".join(wrong), "change them as it says; Headgate changes no topic"
        )
    return DoctorFinding("topics", Health.OK, f"as they must be; partitions of {counts}")


def _clock(bus: Bus, count: int, ambient: Ambient) -> Iterator[DoctorFinding]:
    """Only the newest record can show this, and only for a bus that is ahead: an old record may simply be old."""
    newest: list[int] = []
    for partition in range(count):
        held = bus.extent(Topic.PROPOSALS, partition)
        if held.first < held.next_offset:
            with closing(bus.reader(Topic.PROPOSALS, {partition: held.next_offset - 1})) as reader:
                newest += [record.time_ms for record in reader.read(_READ_WITHIN_S, 1)]
    if newest:
        yield clock_finding("clock of the bus", max(0.0, (max(newest) - ambient.now_ms()) / 1000), "the bus's")


def _backlog(bus: Bus, group: str, partition: int, ambient: Ambient, late_after_s: float) -> DoctorFinding:
    """The undecided proposals of the group; the age of the oldest shows whether a committer works."""
    check = f"proposals of partition {partition}"
    known, held = look_again(bus, group, partition)
    start = known.start
    if known.reason:
        undecided = f"{held.next_offset - start:,} proposals there may not be decided"
        mend = (
            f"see that a committer of group {group} runs: it reads the partition again from offset {start}, and its log names the"
            " tables that need `headgate table rebind`"
        )
        return DoctorFinding(check, Health.PROBLEM, f"{known.reason}; {undecided}", mend)
    if start >= held.next_offset:
        return DoctorFinding(check, Health.OK, "all decided")
    with closing(bus.reader(Topic.PROPOSALS, {partition: start})) as reader:
        records = reader.read(_READ_WITHIN_S, 1)
    if not records:
        raise BusError(
            f"proposal {start} of partition {partition} of {bus.address} could not be read in {_READ_WITHIN_S:g} s"
        )
    age_s = max(0.0, (ambient.now_ms() - records[0].time_ms) / 1000)
    found = f"{held.next_offset - start:,} not decided; the oldest, at offset {records[0].offset}, for {age_s:,.0f} s"
    if age_s <= late_after_s:
        return DoctorFinding(check, Health.OK, found)
    return DoctorFinding(
        check, Health.PROBLEM, found, f"see that a committer of group {group} runs, and what it says in its log"
    )
