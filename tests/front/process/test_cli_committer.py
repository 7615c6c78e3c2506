"""`headgate committer`, `headgate up` and `headgate table rebind`: processes that decide, and what ends them."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from headgate.process import roots
from headgate.process import stop_signals as told_to_stop
from headgate_bus.interface import Bus, Message, Topic
from headgate_bus.open import open_bus
from headgate_bus.sqlite.seat import SqliteSeat
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.operations import Delete
from headgate_schemas.messages.proposals import encode_proposal, new_proposal
from headgate_table.store.local.store import LocalStore
from headgate_table.store.probe import ProbeReport
from headgate_table.table import Table
from support.committing.threaded import a_committer
from support.processes.cli_processes import a_process, heard, rest_of
from support.processes.freezing import freeze, thaw

LOOKS = 2_000
"""How often a committer may ask whether to stop, each time after it waited for work: a bound for tests that go wrong."""


def propose_without_waiting(bus: str, table: Path, path: str) -> None:
    proposal = new_proposal(
        Delete((path,)),
        proposal_id=f"delete-{path}",
        table=str(table),
        created_ms=SystemAmbient().now_ms(),
        author="a test",
    )
    headers = attributes(kind=PROPOSAL, event_id=proposal.id, source="a test", subject=proposal.id, time_ms=1)
    with closing(open_bus(bus, SystemAmbient())) as opened:
        opened.prepare()
        opened.append(Topic.PROPOSALS, [Message(str(table), headers, encode_proposal(proposal))])


@contextmanager
def stopped_at_once() -> Iterator[Callable[[], bool]]:
    yield lambda: True


def announced(bus: Bus) -> bool:
    """Whether the bus holds an event or a dead letter."""
    return any(
        bus.extent(topic, number).next_offset
        for topic in (Topic.EVENTS, Topic.DEAD_LETTERS)
        for number in range(bus.partitions(topic))
    )


@pytest.fixture
def until_announced(bus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A committer in this process stops when it has announced something."""

    @contextmanager
    def told() -> Iterator[Callable[[], bool]]:
        looks = iter(range(LOOKS))
        with closing(open_bus(bus, SystemAmbient())) as opened:

            def stopping() -> bool:
                next(looks)
                return announced(opened)

            yield stopping

    monkeypatch.setattr(told_to_stop, "until_told_to_stop", told)


@pytest.mark.usefixtures("until_announced")
def test_a_committer_decides_and_tells_it_in_one_line_of_json(
    headgate: Any, bus: str, sales: Path, tmp_path: Path
) -> None:
    propose_without_waiting(bus, sales, "a.parquet")
    ran = headgate("committer", "--root", tmp_path, "--id", "first", "--log", "json")
    assert (ran.code, ran.out) == (0, "")
    events = [json.loads(line) for line in ran.err.splitlines()]
    assert all({"time", "level", "part", "event"} <= event.keys() for event in events)
    [commit] = [event for event in events if event["event"] == "version_committed"]
    assert (commit["table"], commit["version"], commit["removed"], commit["offset"]) == (str(sales), 4, 1, 0)
    assert [event["event"] for event in events][-1] == "committer_stopped"
    assert events[-1]["committer"].startswith("first-")


@pytest.mark.usefixtures("until_announced")
def test_events_for_people_are_lines_as_well(headgate: Any, bus: str, sales: Path) -> None:
    propose_without_waiting(bus, sales, "a.parquet")
    ran = headgate("committer", "--log", "console")
    assert (ran.code, ran.out) == (0, "")
    assert re.search(r"version_committed .*version=4", ran.err)
    assert "every_table_is_served" in ran.err


@pytest.mark.usefixtures("until_announced")
def test_a_table_outside_of_the_roots_is_not_touched(headgate: Any, bus: str, sales: Path, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    propose_without_waiting(bus, sales, "a.parquet")
    assert headgate("committer", "--root", tmp_path / "lake").code == 0
    assert headgate("events", "--format", "json").json == []
    [letter] = headgate("dead-letters", "list", "--format", "json").json
    assert letter["code"] == "unknown_table"
    assert "lies outside of the roots" in letter["reason"]
    assert Table.open(str(sales)).version == 3


@pytest.mark.usefixtures("until_announced")
def test_up_works_on_a_bus_of_its_own(
    headgate: Any, sales: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is made where programs of this user keep their data; the fixture's bus is put there."""
    monkeypatch.delenv("HEADGATE_BUS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "my data"))
    address = f"sqlite://{tmp_path}/my%20data/headgate/bus.db"

    @contextmanager
    def told() -> Iterator[Callable[[], bool]]:
        propose_without_waiting(address, sales, "a.parquet")
        looks = iter(range(LOOKS))
        with closing(open_bus(address, SystemAmbient())) as opened:
            yield lambda: next(looks) >= 0 and announced(opened)

    monkeypatch.setattr(told_to_stop, "until_told_to_stop", told)
    ran = headgate("up", "--log", "json")
    assert ran.code == 0, ran.err
    assert f"export HEADGATE_BUS={address}" in ran.out
    assert Table.open(str(sales)).version == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--limit", "group-proposal=5"), "Did you mean 'group-proposals'"),
        (("--log", "xml"), "auto, console, json"),
        (("--root", "missing/folder"), "is no folder"),
        (("--root", "s4://lake"), "Did you mean s3://"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
@pytest.mark.usefixtures("bus")
def test_a_committer_that_cannot_work_says_why_and_ends_with_1(
    headgate: Any, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told_to_stop, "until_told_to_stop", stopped_at_once)
    ran = headgate("committer", *arguments)
    assert ran.code == 1
    assert said in ran.err.splitlines()[-1]


@pytest.mark.usefixtures("bus")
def test_a_store_that_would_overwrite_commits_is_not_served(
    headgate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probed(store: LocalStore, _: object) -> ProbeReport:
        return ProbeReport(store.uri, False, True, ("it created the same object twice",))

    monkeypatch.setattr(told_to_stop, "until_told_to_stop", stopped_at_once)
    monkeypatch.setattr(roots, "probe_conditional_writes", probed)
    ran = headgate("committer", "--root", tmp_path)
    assert ran.code == 1
    assert (
        ran.err.splitlines()[-1] == f"Error: tables below {tmp_path} are not served: it created the same object twice"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("name", ["committer", "up"])
def test_a_signal_ends_it_cleanly(headgate: Any, bus: str, sales: Path, name: str, number: signal.Signals) -> None:
    with a_process(name, "--bus", bus) as process:
        heard(process, "committer_started")
        ran = headgate("propose", sales, "delete", "--path", "a.parquet")
        process.send_signal(number)
        _, errors = rest_of(process)
    assert (ran.code, process.returncode) == (0, 0), errors
    assert json.loads(errors.splitlines()[-1])["event"] == "committer_stopped"


def test_a_committer_beside_one_of_another_group_is_refused_at_its_start(headgate: Any, bus: str, sales: Path) -> None:
    with a_process("committer", "--bus", bus, "--group", "a", "--root", str(sales.parent)) as first:
        heard(first, "partition_taken")
        ran = headgate("committer", "--bus", bus, "--group", "b")
        assert ran.code == 1
        said = ran.err.splitlines()[-1]
        assert f"committers of group a, which serve tables below {sales.parent}," in said
        assert "--group a" in said
        ran = headgate("committer", "--bus", bus, "--group", "a")
        assert ran.code == 1
        assert "which serves all tables, can't begin" in ran.err.splitlines()[-1]
        assert headgate("propose", sales, "delete", "--path", "a.parquet").code == 0
        first.terminate()
        rest_of(first)
    assert first.returncode == 0


def test_a_committer_that_is_overtaken_ends_with_1_and_one_message(
    headgate: Any, bus: str, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two groups decide the same proposals, which is a mistake: the later term wins, and the other stops."""
    with a_process("committer", "--bus", bus, "--group", "a") as first:
        heard(first, "partition_taken")
        assert headgate("propose", sales, "delete", "--path", "a.parquet").code == 0
        freeze(first)
        # As a release that doesn't look around.
        monkeypatch.setattr(SqliteSeat, "others", lambda seat: ())
        with a_committer(bus, group="b"):
            assert headgate("propose", sales, "delete", "--path", "c.parquet").code == 0
        thaw(first)
        _, errors = rest_of(first)
    assert first.returncode == 1
    assert re.match(r"Error: .* is worked on by committer committer-\w+ in epoch 2", errors.splitlines()[-1])
    assert "Traceback" not in errors


def test_rebind_says_that_nothing_has_to_be_done(headgate: Any, committing: None, sales: Path) -> None:
    headgate("propose", sales, "delete", "--path", "a.parquet")
    ran = headgate("table", "rebind", sales, "--format", "json")
    assert (ran.code, ran.json["version"]) == (0, None)
    assert "already" in ran.json["reason"]
    assert Table.open(str(sales)).version == 4


def test_rebind_feeds_the_table_from_a_bus_that_was_made_anew(
    headgate: Any, committing: None, bus: str, sales: Path, tmp_path: Path
) -> None:
    headgate("propose", sales, "delete", "--path", "a.parquet")
    other = f"sqlite://{tmp_path}/other.db"
    with closing(open_bus(other, SystemAmbient())) as opened:
        opened.prepare()
    ran = headgate("table", "rebind", sales, "--bus", other, "--format", "json")
    assert (ran.code, ran.json["version"], ran.json["position"]) == (0, 5, 0)
    assert ran.json["previous_position"] == 1
    assert ran.json["source"] != ran.json["previous_source"]


def test_rebind_of_a_table_that_is_not_there_says_so(headgate: Any, committing: None, tmp_path: Path) -> None:
    ran = headgate("table", "rebind", tmp_path / "nowhere")
    assert ran.code == 1
    assert "there is no table" in ran.err
