"""What a part logs goes where the process said, and nowhere else."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from headgate_schemas.logs import get_logger


@pytest.fixture(autouse=True)
def unconfigured() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def test_nothing_is_printed_in_a_process_that_configured_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    get_logger("headgate.test").info("version_committed", version=3)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_without_structlog_configured_events_go_to_the_logging_of_python(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headgate.test"):
        get_logger("headgate.test").info("version_committed", version=3)
        get_logger("headgate.test").warning("state_not_written", reason="100 % full")
    assert caplog.messages == ["version_committed version=3", "state_not_written reason=100 % full"]


def test_a_configured_structlog_gets_the_fields() -> None:
    logger = get_logger("headgate.test")
    with structlog.testing.capture_logs() as captured:
        logger.info("version_committed", version=3)
        logger.warning("state_not_written", reason="full")
    assert captured == [
        {"event": "version_committed", "log_level": "info", "version": 3},
        {"event": "state_not_written", "log_level": "warning", "reason": "full"},
    ]
