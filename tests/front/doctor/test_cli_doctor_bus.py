"""`headgate doctor` with a bus: whether it answers, and whether the committers keep up."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headgate.doctor.bus_checkup import examine_bus
from headgate.doctor.findings import DoctorFinding, Health
from headgate_bus.interface import Message, Topic
from headgate_bus.marks import mark_of, record_at
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from support.bus.rigs import holding

GROUP = "headgate-committer"
AMBIENT = SystemAmbient()


@pytest.fixture
def address(tmp_path: Path) -> str:
    """A bus without any proposals."""
    found = f"sqlite://{tmp_path}/bus.db"
    bus = open_bus(found, AMBIENT)
    bus.prepare()
    bus.close()
    return found


def propose(address: str, count: int) -> None:
    bus = open_bus(address, AMBIENT)
    bus.append(Topic.PROPOSALS, [Message("file:///lake/t", {}, b"{}")] * count)
    bus.close()


def settle(address: str, upto: int) -> None:
    """What a committer does when it has decided everything below this offset."""
    bus = open_bus(address, AMBIENT)
    seat = holding(bus.seat(GROUP), 1)
    seat.seek(0, 0)
    seat.publish(0, [], [], upto)
    seat.close()
    bus.close()


def backlog(address: str, late_after_s: float) -> DoctorFinding:
    [found] = [one for one in examine_bus(address, GROUP, AMBIENT, late_after_s) if one.check.startswith("proposals")]
    return found


def test_a_bus_with_nothing_on_it_is_sound(address: str) -> None:
    findings = list(examine_bus(address, GROUP, AMBIENT))
    assert [(found.check, found.health) for found in findings] == [
        ("bus", Health.OK),
        ("topics", Health.OK),
        ("proposals of partition 0", Health.OK),
        ("disk of the bus", Health.OK),
    ]
    assert findings[2].found == "all decided"


def test_a_proposal_that_waits_for_a_moment_is_no_problem(address: str) -> None:
    propose(address, 3)
    found = backlog(address, late_after_s=3600)
    assert (found.health, found.found.split(";")[0]) == (Health.OK, "3 not decided")


def test_a_proposal_that_waits_for_too_long_is_a_problem_that_names_the_committers(address: str) -> None:
    propose(address, 2)
    found = backlog(address, late_after_s=-1)
    assert found.health is Health.PROBLEM
    assert found.mend == f"see that a committer of group {GROUP} runs, and what it says in its log"


def test_only_what_comes_after_the_settled_offset_counts(address: str) -> None:
    propose(address, 3)
    settle(address, 2)
    assert backlog(address, late_after_s=3600).found.startswith("1 not decided; the oldest, at offset 2,")


def test_a_bus_whose_proposals_are_all_settled_is_sound_however_old_they_are(address: str) -> None:
    propose(address, 3)
    settle(address, 3)
    assert backlog(address, late_after_s=-1).health is Health.OK


def test_the_command_ends_with_1_when_a_proposal_is_late(headgate: Any, address: str) -> None:
    propose(address, 1)
    assert headgate("doctor", "--bus", address, "--late-after", "1h").code == 0
    assert headgate("doctor", "--bus", address, "--late-after", "0ms").code == 1


def test_a_bus_that_is_not_there_is_a_problem_and_is_not_made(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("doctor", "--bus", f"sqlite://{tmp_path}/none.db", "--format", "json")
    assert ran.code == 1
    assert [row["health"] for row in ran.json if row["check"] == "bus"] == ["problem"]
    assert not (tmp_path / "none.db").exists()


def test_an_address_that_is_none_is_a_problem(headgate: Any) -> None:
    assert headgate("doctor", "--bus", "broker:9092").code == 1


def test_a_time_that_is_none_is_wrong_usage(headgate: Any, address: str) -> None:
    assert headgate("doctor", "--bus", address, "--late-after", "soon").code == 2


def cut(address: str, end: int) -> None:
    """A hand in the file takes the newest proposals away."""
    with closing(sqlite3.connect(address.removeprefix("sqlite://"))) as file, file:
        file.execute("DELETE FROM proposals WHERE place >= ?", (end,))
        file.execute("UPDATE partitions SET next_offset = ? WHERE topic = 'proposals'", (end,))


def settle_marked(address: str) -> None:
    """As a committer of this release settles everything there is."""
    bus = open_bus(address, AMBIENT)
    seat = holding(bus.seat(GROUP), 1)
    seat.seek(0, 0)
    end = bus.extent(Topic.PROPOSALS, 0).next_offset
    record = record_at(bus, 0, end - 1)
    assert record is not None
    seat.publish(0, [], [], end, mark_of(bus.source(0).topic, record))
    seat.close()
    bus.close()


def name(address: str, *ids: str) -> None:
    bus = open_bus(address, AMBIENT)
    bus.append(Topic.PROPOSALS, [Message("file:///lake/t", {"ce_subject": each}, b"{}") for each in ids])
    bus.close()


@pytest.mark.parametrize(
    ("grown", "said"),
    [((), "the log ends at 2"), (("x",), "holds something else"), (("x", "y", "z"), "holds something else")],
)
def test_a_log_that_was_cut_is_a_problem_however_long_it_is_by_now(
    address: str, grown: tuple[str, ...], said: str
) -> None:
    name(address, "a", "b", "c")
    settle_marked(address)
    assert backlog(address, late_after_s=3600).found == "all decided"
    cut(address, 2)
    name(address, *grown)
    found = backlog(address, late_after_s=3600)
    assert found.health is Health.PROBLEM
    assert said in found.found
    assert found.mend is not None
    assert "headgate table rebind" in found.mend
