"""How events of long-running processes look, and that what libraries log looks the same."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from headgate.process.logs import log_for_a_long_time
from headgate.settings.process_settings import LogForm
from headgate_schemas.logs import get_logger


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def afterwards() -> Iterator[None]:
    """The Kafka client is quietened for good by whoever opens a bus of it in this process, such as an earlier test."""
    kafka = logging.getLogger("kafka")
    level = kafka.level
    kafka.setLevel(logging.NOTSET)
    yield
    kafka.setLevel(level)
    structlog.reset_defaults()


def told(stream: io.StringIO, form: LogForm) -> list[str]:
    with log_for_a_long_time(stream, form):
        get_logger("headgate.commit").info("version_committed", table="lake/ü", version=3)
        logging.getLogger("kafka.conn").warning("lost %s", "broker-1")
        logging.getLogger("kafka.conn").info("of no use to operators")
    logging.getLogger("kafka.conn").warning("after the end")
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("form", [LogForm.JSON, LogForm.AUTO])
def test_away_from_a_terminal_every_event_is_one_json_object(form: LogForm) -> None:
    ours, theirs = map(json.loads, told(io.StringIO(), form))
    assert list(ours)[:4] == ["time", "level", "part", "event"]
    assert (ours["part"], ours["event"], ours["table"], ours["version"]) == (
        "headgate.commit",
        "version_committed",
        "lake/ü",
        3,
    )
    assert (theirs["part"], theirs["event"], theirs["level"]) == ("kafka.conn", "lost broker-1", "warning")


@pytest.mark.parametrize(("stream", "form"), [(io.StringIO(), LogForm.CONSOLE), (Terminal(), LogForm.AUTO)])
def test_for_people_every_event_is_one_line_that_is_no_json(stream: io.StringIO, form: LogForm) -> None:
    ours, theirs = told(stream, form)
    assert "version_committed" in ours
    assert "lost broker-1" in theirs
    assert "{" not in ours
