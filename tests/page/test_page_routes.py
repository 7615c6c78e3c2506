"""What the page's server answers to whom: the stream and where it goes on, readings of tables, and its bounds."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from headgate.page import routes
from headgate.page.assets import read_assets
from headgate.page.serving import ServedPage
from headgate.page.table_reads import TableLooks
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import InvalidInput
from headgate_table.table import Table
from support.page.served import a_page

DEADLINE_S = 30.0
MOST_EVENTS = 12
"""Signs of life come for ever; what a test waits for comes long before these are over."""


def a_file(day: str) -> AddFile:
    return AddFile(
        path=f"date={day}/{day}.parquet",
        partition_values={"date": day},
        size=1_000,
        modification_time=1_700_000_000_000,
        num_records=10,
    )


@pytest.fixture
def table(tmp_path: Path) -> str:
    uri = str(tmp_path / "events")
    made = Table.create(uri, "id BIGINT, date STRING", ["date"])
    made.append([a_file("1"), a_file("2")])
    made.delete(paths=["date=1/1.parquet"])
    return uri


@pytest.fixture
def served(table: str) -> Iterator[ServedPage]:
    with a_page(None, watch=[table]) as page:
        yield page


def get(served: ServedPage, path: str, **asked: object) -> tuple[int, Any]:
    query = f"?{urlencode(asked)}" if asked else ""
    try:
        with urllib.request.urlopen(f"{served.address.url}{path}{query}", timeout=DEADLINE_S) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


@contextmanager
def streaming(served: ServedPage, last: str = "", **headers: str) -> Iterator[Iterator[dict[str, str]]]:
    """The events of the stream, as they come."""
    query = f"?{urlencode({'last': last})}" if last else ""
    request = urllib.request.Request(f"{served.address.url}/api/stream{query}", headers=headers)
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")

        def events() -> Iterator[dict[str, str]]:
            event: dict[str, str] = {}
            for line in answer:
                name, colon, value = line.decode().rstrip("\n").partition(": ")
                if colon:
                    event[name] = value
                elif event:
                    yield event
                    event = {}

        yield (event for event in islice(events(), MOST_EVENTS) if "event" in event)


def test_the_stream_begins_with_the_whole_picture(served: ServedPage, table: str) -> None:
    with streaming(served) as events:
        first = next(events)
    assert first["event"] == "picture"
    assert [row["uri"] for row in json.loads(first["data"])["tables"]] == [table]


def test_a_browser_goes_on_after_what_it_has_and_another_runs_place_means_nothing(
    served: ServedPage,
) -> None:
    with streaming(served) as events:
        seen = next(event for event in events if '"files":1' in event["data"] and event["event"] == "change")
    run, _, number = seen["id"].rpartition("-")
    before = f"{run}-{int(number) - 1}"
    with streaming(served, **{"Last-Event-ID": before}) as events:
        again = next(events)
    assert (again["event"], again["id"], again["data"]) == ("change", seen["id"], seen["data"])
    with streaming(served, before) as events:
        assert next(events)["id"] == seen["id"]
    with streaming(served, "other-1") as events:
        assert next(events)["event"] == "picture"


def test_a_table_without_a_bus_is_shown_with_its_numbers(served: ServedPage) -> None:
    with streaming(served) as events:
        rows = (row for event in events for row in json.loads(event["data"]).get("tables", []))
        row = next(row for row in rows if row["version"] is not None)
    assert (row["version"], row["files"], row["trouble"]) == (2, 1, "")


def test_history_and_versions_are_told(served: ServedPage, table: str) -> None:
    status, told = get(served, "/api/history", table=table)
    assert status == 200
    assert [(entry["version"], entry["adds"], entry["removes"]) for entry in told["versions"]] == [
        (0, 0, 0),
        (1, 2, 0),
        (2, 0, 1),
    ]
    status, told = get(served, "/api/version", table=table, version=1, partition='["2"]')
    assert status == 200
    assert (told["files"], told["partitions"]["count"], told["columns"]) == (2, 2, ["date"])
    assert [file["path"] for file in told["page"]["files"]] == ["date=2/2.parquet"]


@pytest.mark.parametrize(
    ("asked", "status", "reason"),
    [
        ({"version": "x"}, 400, "version must be a whole number"),
        ({"version": "-1"}, 400, "version must be a whole number"),
        ({}, 400, "version must be a whole number"),
        ({"version": 1, "offset": "1e3"}, 400, "offset must be a whole number"),
        ({"version": 1, "partition": "{"}, 400, "array of texts and nulls"),
        ({"version": 1, "partition": "[1]"}, 400, "array of texts and nulls"),
        ({"version": 1, "partition": "[" * 100_000}, 400, "array of texts and nulls"),
        ({"version": 1, "partition": "[]"}, 400, "1 partition columns"),
        ({"version": 99}, 410, "99"),
    ],
)
def test_what_can_not_be_read_is_said_so(
    served: ServedPage, table: str, asked: dict[str, object], status: int, reason: str
) -> None:
    if len(str(asked.get("partition", ""))) > 1_000:
        asked = {**asked, "partition": "[" * 5_000}
    found, told = get(served, "/api/version", table=table, **asked)
    assert (found, reason in told["error"]) == (status, True), told


def test_a_table_that_the_page_does_not_show_is_not_opened_for_anybody(served: ServedPage, tmp_path: Path) -> None:
    Table.create(str(tmp_path / "secret"), "id BIGINT")
    for uri in (str(tmp_path / "secret"), "s3://elsewhere/x", "../secret", ""):
        assert get(served, "/api/history", table=uri)[0] == 404


def test_a_watched_table_outside_of_the_roots_is_refused_at_the_start(table: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="lies outside of the roots"), a_page(None, watch=[table], roots=["/srv"]):
        pytest.fail("it was shown")


def test_a_reading_that_takes_too_long_is_answered_and_readings_are_bounded(
    served: ServedPage, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def hangs(self: TableLooks, uri: str) -> list[dict[str, Any]]:
        release.wait(DEADLINE_S)
        return []

    monkeypatch.setattr(TableLooks, "history", hangs)
    monkeypatch.setattr(routes, "READ_WITHIN_S", 0.05)
    monkeypatch.setattr(routes, "MAX_READINGS", 1)
    try:
        assert get(served, "/api/history", table=table)[0] == 504
        status, told = get(served, "/api/history", table=table)
        assert (status, "MAX_READINGS" in told["error"]) == (503, True)
    finally:
        release.set()


def test_browsers_that_follow_are_bounded(served: ServedPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MAX_BROWSERS", 1)
    with streaming(served) as events:
        next(events)
        status, told = get(served, "/api/stream")
        assert (status, "MAX_BROWSERS" in told["error"]) == (503, True)


def test_the_pages_own_files_are_kept_by_browsers_and_asked_for_again(served: ServedPage) -> None:
    for name in read_assets():
        url = f"{served.address.url}/assets/{name}"
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
            tag = answer.headers["ETag"]
            assert answer.headers["Cache-Control"] == "no-cache"
        request = urllib.request.Request(url, headers={"If-None-Match": tag})
        with pytest.raises(urllib.error.HTTPError, match="304") as kept:
            urllib.request.urlopen(request, timeout=DEADLINE_S)
        kept.value.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_the_page_only_reads(served: ServedPage, table: str, method: str) -> None:
    for path in ("/", "/api/stream", f"/api/history?{urlencode({'table': table})}", "/assets/app.js"):
        request = urllib.request.Request(f"{served.address.url}{path}", data=b"x", method=method)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=DEADLINE_S)
        refused.value.close()
        assert refused.value.code == 405
