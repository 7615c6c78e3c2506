"""The destination and the form of this process's events. Set up once, when a command begins."""

import logging
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO

import structlog

from headgate.settings.process_settings import LogForm

_LIBRARIES_LEVEL = logging.WARNING
"""What libraries say of themselves below this is of no use to operators."""


def log_for_one_command(stream: TextIO, *, verbose: bool) -> None:
    """Warnings for people; with `verbose`, information as well."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=stream.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO if verbose else logging.WARNING),
        logger_factory=lambda *_: structlog.PrintLogger(stream),
    )


@contextmanager
def log_for_a_long_time(stream: TextIO, form: LogForm) -> Iterator[None]:
    """Every event on one line, with its time and its part of Headgate; libraries' events have the same form."""
    as_json = form is LogForm.JSON or (form is LogForm.AUTO and not stream.isatty())
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time" if as_json else "timestamp"),
    ]
    render: list[Any] = (
        [
            structlog.processors.format_exc_info,
            _head_first,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ]
        if as_json
        else [structlog.dev.ConsoleRenderer(colors=stream.isatty())]
    )
    structlog.configure(
        processors=[*shared, _part, *render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *names: _PartLogger(stream, names[0] if names else "headgate"),
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _library],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    handler.setLevel(_LIBRARIES_LEVEL)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


class _PartLogger(structlog.PrintLogger):
    """A logger that adds the name of its part of Headgate."""

    def __init__(self, stream: TextIO, name: str) -> None:
        super().__init__(stream)
        self.name = name


def _part(logger: Any, _: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    return dict(event) | {"part": logger.name}


def _library(_: Any, __: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    record = event.get("_record")
    return dict(event) | {"part": record.name if isinstance(record, logging.LogRecord) else "library"}


def _head_first(_: Any, __: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """The fields that all events have come before those of some events."""
    return {key: event[key] for key in ("time", "level", "part", "event") if key in event} | dict(event)
