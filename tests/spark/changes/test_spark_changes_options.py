"""Options that go together in reads of changes, and those that don't. Without a session."""

import importlib
import sys
from collections.abc import Callable
from unittest import mock

import pyspark.sql.datasource  # noqa: F401 - which knows that module itself, in a newer Spark
import pytest

from headgate_schemas.errors import HeadgateError, InvalidInput
from pyspark_headgate.changes.feed import OnRemoval
from pyspark_headgate.changes.options import check_feed, check_plain_read, check_stream, on_removal
from pyspark_headgate.options import SourceOptions


def _given(**options: str) -> SourceOptions:
    return SourceOptions.of({"path": "/lake", **options})


@pytest.mark.parametrize(
    ("check", "options", "said"),
    [
        (on_removal, {"skipChangeCommits": "true"}, "appends of other writers"),
        (on_removal, {"readChangeFeed": "true", "ignoreChanges": "true"}, "leave out ignoreDeletes and ignoreChanges"),
        (check_plain_read, {"startingVersion": "3"}, "readChangeFeed=true"),
        (check_plain_read, {"maxFilesPerTrigger": "3"}, "readStream"),
        (check_stream, {"versionAsOf": "3"}, "startingVersion"),
        (check_stream, {"timestampAsOf": "2024-01-01"}, "startingTimestamp"),
        (check_stream, {"where": "id > 3"}, "filter changes"),
        (check_feed, {"readChangeFeed": "true"}, "startingVersion=earliest"),
        (check_feed, {"readChangeFeed": "true", "startingVersion": "1", "where": "id > 3"}, "filter changes"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else getattr(value, "__name__", ""),
)
def test_an_option_that_would_be_passed_over_is_refused(
    check: Callable[[SourceOptions], object], options: dict[str, str], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        check(_given(**options))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, OnRemoval.REFUSE),
        ({"ignoreDeletes": "true"}, OnRemoval.IGNORE_DELETES),
        ({"ignoreDeletes": "true", "ignoreChanges": "true"}, OnRemoval.IGNORE_CHANGES),
        ({"readChangeFeed": "true"}, OnRemoval.DELIVER),
    ],
    ids=["nothing", "deletes", "changes", "feed"],
)
def test_options_say_what_becomes_of_removed_rows(options: dict[str, str], expected: OnRemoval) -> None:
    assert on_removal(_given(**options)) is expected


def test_a_spark_that_can_not_bound_a_stream_is_told_so() -> None:
    with mock.patch.dict(sys.modules, {"pyspark.sql.streaming.datasource": None}):
        sys.modules.pop("pyspark_headgate.changes.stream", None)
        with pytest.raises(HeadgateError, match=r"PySpark 4\.2"):
            importlib.import_module("pyspark_headgate.changes.stream")
