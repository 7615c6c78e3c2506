"""`headgate events` and `headgate dead-letters`: what a bus holds, read by people and programs."""

import json
import subprocess
import sys
import threading
from base64 import b64decode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headgate_bus.interface import Message, Topic
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.operations import Delete
from headgate_schemas.messages.proposals import encode_proposal, new_proposal
from headgate_table.table import Table

pytestmark = pytest.mark.usefixtures("committing")


def append(bus: str, key: str, body: bytes, subject: str = "theirs", topic: Topic = Topic.PROPOSALS) -> None:
    headers = attributes(kind=PROPOSAL, event_id=subject, source="a test", subject=subject, time_ms=1)
    with closing(open_bus(bus, SystemAmbient())) as opened:
        opened.append(topic, [Message(key, headers, body)])


def settle(headgate: Any, table: Path) -> None:
    """What was appended before is decided when this is."""
    assert headgate("propose", table, "purge", "--path", "nothing.parquet").code == 0


@pytest.fixture
def two_tables(headgate: Any, tmp_path: Path, sales: Path) -> tuple[Path, Path]:
    """One was made, and of the other a file deleted."""
    assert headgate("propose", tmp_path / "made", "create", "--schema", "id bigint").code == 0
    assert headgate("propose", sales, "delete", "--path", "a.parquet", "--id", "one").code == 0
    assert headgate("propose", sales, "delete", "--path", "a.parquet", "--id", "two").code == 1
    return tmp_path / "made", sales


def test_events_are_receipts_and_commits_in_order(headgate: Any, two_tables: tuple[Path, Path]) -> None:
    found = headgate("events", two_tables[1], "--format", "json").json
    told = [(row["event"], row["version"], row["outcome"], row["proposal"], row["operation"]) for row in found]
    assert told[:2] == [("receipt", 4, "committed", "one", None), ("commit", 4, None, None, "Delete")]
    assert ("receipt", None, "rejected", "two", None) in told
    [commit] = [row for row in found if row["event"] == "commit" and row["version"] == 4]
    assert (commit["removed"], commit["removed_bytes"], commit["proposals"]) == (1, 2_500_000, ["one"])


def test_without_a_table_events_of_all_tables_are_listed(headgate: Any, two_tables: tuple[Path, Path]) -> None:
    ran = headgate("events", "--format", "csv")
    assert {row["table"] for row in ran.csv} == {str(table) for table in two_tables}


def test_events_for_people_have_a_line_each(headgate: Any, two_tables: tuple[Path, Path]) -> None:
    ran = headgate("events", two_tables[1])
    assert ran.lines[0][:2] == ["offset", "time"]
    assert any("path_in_use" in line or "not_live" in line for line in ran.lines)


def test_events_begin_and_end_where_they_are_told_to(headgate: Any, two_tables: tuple[Path, Path]) -> None:
    sales = two_tables[1]
    everything = headgate("events", sales, "--format", "json").json
    third = everything[2]["offset"]
    assert headgate("events", sales, "--from", str(third), "--format", "json").json == everything[2:]
    assert headgate("events", sales, "--limit", "2", "--format", "json").json == everything[:2]
    assert headgate("events", sales, "--from", "next", "--format", "json").json == []


def test_events_of_several_tables_come_in_the_order_of_their_times(
    headgate: Any, two_tables: tuple[Path, Path]
) -> None:
    made, sales = map(str, two_tables)
    tables = [row["table"] for row in headgate("events", "--format", "json").json]
    assert tables == [made] * tables.count(made) + [sales] * tables.count(sales)


def test_an_offset_without_a_table_needs_a_partition(headgate: Any, two_tables: tuple[Path, Path]) -> None:
    ran = headgate("events", "--from", "0")
    assert ran.code == 1
    assert "--partition" in ran.err


@pytest.mark.parametrize("start", ["last", "-1", "1.5", "٣"])
def test_a_beginning_that_is_none_is_explained(headgate: Any, start: str) -> None:
    ran = headgate("events", f"--from={start}")
    assert ran.code == 2
    assert "neither first, next nor an offset" in " ".join(ran.err.split())


def test_an_offset_beyond_the_end_is_refused(headgate: Any, two_tables: tuple[Path, Path]) -> None:
    ran = headgate("events", two_tables[1], "--from", "1000000")
    assert (ran.code, ran.out) == (1, "")
    assert "1000000" in ran.err


def test_a_partition_that_is_not_there_is_refused(headgate: Any) -> None:
    ran = headgate("events", "--partition", "8")
    assert ran.code == 1
    assert "no partition 8" in ran.err


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_following_shows_what_was_and_what_comes(
    headgate: Any, bus: str, two_tables: tuple[Path, Path], form: str
) -> None:
    """The third event comes from a proposal that is made when following has begun, or before: both must be shown."""
    before = len(headgate("events", "--format", "json").json)
    sales = str(two_tables[1])
    proposal = new_proposal(Delete(("d.parquet",)), proposal_id="late", table=sales, created_ms=1, author="a test")
    thread = threading.Thread(target=append, args=(bus, sales, encode_proposal(proposal), "late"))
    thread.start()
    ran = headgate("events", "--follow", "--from", "first", "--limit", str(before + 1), "--format", form)
    thread.join(60)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert len(lines) == before + 1 + (form == "csv")
    assert "late" in lines[-1]


def test_a_followed_event_is_one_json_object_a_line(headgate: Any, two_tables: tuple[Path, Path]) -> None:
    ran = headgate("events", "--follow", "--from", "first", "--limit", "2", "--format", "json")
    assert [json.loads(line)["event"] for line in ran.out.splitlines()] == ["receipt", "commit"]


def test_following_ends_with_the_last_event_asked_for_though_no_other_comes(
    headgate: Any, two_tables: tuple[Path, Path]
) -> None:
    count = len(headgate("events", "--format", "json").json)
    options = ("--follow", "--from", "first", "--limit", str(count), "--format", "json")
    done = subprocess.run(
        [sys.executable, "-m", "headgate", "events", *options], capture_output=True, text=True, timeout=60, check=True
    )
    assert len(done.stdout.splitlines()) == count


def test_an_event_that_cannot_be_read_is_still_shown(headgate: Any, bus: str, sales: Path) -> None:
    append(bus, str(sales), b'{"type":"of_later"}', topic=Topic.EVENTS)
    [row] = headgate("events", "--format", "json").json
    assert (row["event"], row["table"]) == (PROPOSAL, str(sales))
    assert "of_later" in row["reason"]


def test_without_dead_letters_the_list_is_empty(headgate: Any, sales: Path) -> None:
    settle(headgate, sales)
    assert headgate("dead-letters", "list", "--format", "json").json == []


def test_a_dead_letter_is_listed_and_shown(headgate: Any, bus: str, sales: Path) -> None:
    append(bus, str(sales), b'{"format": 9}', "odd")
    settle(headgate, sales)
    [listed] = headgate("dead-letters", "list", "--format", "json").json
    assert (listed["code"], listed["proposal"], listed["offset"]) == ("unreadable", "odd", 0)
    shown = headgate("dead-letters", "show", listed["id"], "--format", "json").json
    assert (shown["body"], shown["encoding"], shown["is_whole"]) == ('{"format": 9}', "utf-8", True)
    assert shown["headers"]["ce_subject"] == "odd"
    assert "update it" in shown["reason"]


def test_a_body_that_is_no_text_is_shown_as_base64(headgate: Any, bus: str, sales: Path) -> None:
    append(bus, str(sales), b"\xff\x00")
    settle(headgate, sales)
    [listed] = headgate("dead-letters", "list", "--format", "json").json
    shown = headgate("dead-letters", "show", listed["id"], "--format", "json").json
    assert (shown["encoding"], b64decode(shown["body"])) == ("base64", b"\xff\x00")


def test_rubbish_among_dead_letters_hides_none_of_them(headgate: Any, bus: str, sales: Path) -> None:
    settle(headgate, sales)
    append(bus, "somebody", b"no json", topic=Topic.DEAD_LETTERS)
    append(bus, str(sales), b"no json either", "odd")
    settle(headgate, sales)
    found = headgate("dead-letters", "list", "--format", "json").json
    [rubbish], [letter] = ([row for row in found if (row["id"] is None) == is_rubbish] for is_rubbish in (True, False))
    assert rubbish["table"] == "somebody"
    assert "of this topic is no dead letter" in rubbish["reason"]
    assert headgate("dead-letters", "show", letter["id"], "--format", "json").json["body"] == "no json either"


def test_a_dead_letter_that_is_not_there_is_said_to_be_missing(headgate: Any) -> None:
    ran = headgate("dead-letters", "show", "x/0/1")
    assert ran.code == 1
    assert "dead-letters list" in ran.err


def test_a_sound_dead_letter_is_replayed_under_a_new_id(headgate: Any, bus: str, sales: Path, tmp_path: Path) -> None:
    """The table was elsewhere when the proposal came."""
    sales.rename(tmp_path / "away")
    proposal = new_proposal(
        Delete(("a.parquet",)),
        proposal_id="early",
        table=str(sales),
        created_ms=SystemAmbient().now_ms(),
        author="a test",
    )
    append(bus, str(sales), encode_proposal(proposal), "early")
    assert headgate("propose", tmp_path / "other", "create", "--schema", "id bigint").code == 0
    [listed] = headgate("dead-letters", "list", "--format", "json").json
    assert listed["code"] == "unknown_table"
    (tmp_path / "away").rename(sales)
    ran = headgate("dead-letters", "replay", listed["id"], "--format", "json")
    assert (ran.code, ran.json["outcome"], ran.json["version"]) == (0, "committed", 4)
    assert ran.json["proposal_id"] != "early"
    assert "a.parquet" not in Table.open(str(sales)).snapshot().paths()


def test_a_dead_letter_that_cannot_be_read_is_not_replayed(headgate: Any, bus: str, sales: Path) -> None:
    append(bus, str(sales), b"no json")
    settle(headgate, sales)
    [listed] = headgate("dead-letters", "list", "--format", "json").json
    ran = headgate("dead-letters", "replay", listed["id"])
    assert (ran.code, ran.out) == (1, "")
    assert "its author has to propose it again" in ran.err


def test_a_dead_letter_that_was_cut_is_not_replayed(headgate: Any, bus: str, sales: Path) -> None:
    append(bus, str(sales), b" " * (900 << 10))
    settle(headgate, sales)
    [listed] = headgate("dead-letters", "list", "--format", "json").json
    ran = headgate("dead-letters", "replay", listed["id"])
    assert ran.code == 1
    assert "of the 921,600 bytes" in ran.err
