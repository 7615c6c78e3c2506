"""The loggers of all parts: structured events, silent in a process that hasn't configured them.

structlog's own default prints to standard output, which belongs to the program that uses this library. Each process
chooses the form and the destination of events once, at its start.
"""

import logging
import sys
import traceback
from typing import Any

from headgate_schemas.errors import HeadgateError


class EventLogger:
    """The events of one part, sent to structlog if it is configured, else to Python's logging."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, event: str, **fields: Any) -> None:
        structured = _structured(self._name)
        if structured is not None:
            structured.info(event, **fields)
        else:
            self._plain(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        structured = _structured(self._name)
        if structured is not None:
            structured.warning(event, **fields)
        else:
            self._plain(logging.WARNING, event, fields)

    def _plain(self, level: int, event: str, fields: dict[str, Any]) -> None:
        logger = logging.getLogger(self._name)
        if logger.isEnabledFor(level):
            logger.log(level, "%s", " ".join([event, *(f"{key}={value}" for key, value in fields.items())]))


def _structured(name: str) -> Any | None:
    """structlog's logger, if the process has configured structlog; other processes needn't pay for its import."""
    if "structlog" not in sys.modules:
        return None
    import structlog

    return structlog.get_logger(name) if structlog.is_configured() else None


def get_logger(name: str) -> EventLogger:
    """The logger of a part, such as `headgate.commit`."""
    return EventLogger(name)


def describe_error(error: BaseException) -> str:
    """An error for the log. Headgate's errors explain themselves; any other is a defect, and its traceback is needed."""
    return str(error) if isinstance(error, HeadgateError) else "".join(traceback.format_exception(error)[-3:])
