"""Sends a merge order to another process and its outcome back, as text, so that no Python classes are pickled.

The two processes may have different versions of Headgate. This module detects that and never misreads a value.
"""

import json
from dataclasses import asdict
from typing import Any, assert_never

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.version import __version__
from headgate_table.errors import CorruptTable, StoreError, UnsupportedTable
from headgate_table.store.settings import StoreSettings
from headgate_worker.merge.orders import ArrowLimits, Gone, Merged, MergeOrder, MergeOutcome, NotMerged, Unreadable

_ERRORS: dict[str, type[HeadgateError]] = {
    kind.__name__: kind for kind in (StoreError, CorruptTable, UnsupportedTable, InvalidInput, HeadgateError)
}
"""An error comes back as the nearest of these that it is; the last one fits all."""


def pack_order(order: MergeOrder, settings: StoreSettings, limits: ArrowLimits) -> str:
    """The settings include credentials, so the text is as secret as they are."""
    return json.dumps(
        {"version": __version__, "order": asdict(order), "settings": asdict(settings), "limits": asdict(limits)}
    )


def unpack_order(text: str) -> tuple[MergeOrder, StoreSettings, ArrowLimits]:
    """Raises `InvalidInput` for the text of another version of Headgate."""
    packed = json.loads(text)
    if packed["version"] != __version__:
        raise InvalidInput(
            f"this process has Headgate {__version__} installed, and the worker that sent the merge has {packed['version']}: "
            f"install the same version on both"
        )
    order = packed["order"] | {
        "sources": tuple(_file(source) for source in packed["order"]["sources"]),
        "partition_columns": tuple(packed["order"]["partition_columns"]),
    }
    return MergeOrder(**order), StoreSettings(**packed["settings"]), ArrowLimits(**packed["limits"])


def pack_outcome(outcome: MergeOutcome | HeadgateError) -> str:
    match outcome:
        case Merged(add):
            return json.dumps({"add": asdict(add)})
        case NotMerged(problems):
            return json.dumps({"problems": [_packed_problem(problem) for problem in problems]})
        case HeadgateError():
            kind = next(one.__name__ for one in type(outcome).__mro__ if _ERRORS.get(one.__name__) is one)
            return json.dumps({"error": kind, "message": str(outcome)})
        case _:
            assert_never(outcome)


def unpack_outcome(text: str) -> MergeOutcome:
    """Raises the error if the outcome was one."""
    packed = json.loads(text)
    if "add" in packed:
        return Merged(_file(packed["add"]))
    if "problems" in packed:
        return NotMerged(tuple(_problem(**problem) for problem in packed["problems"]))
    raise _ERRORS.get(packed["error"], HeadgateError)(packed["message"])


def _packed_problem(problem: Unreadable | Gone) -> dict[str, str]:
    match problem:
        case Unreadable(path, reason):
            return {"path": path, "reason": reason}
        case Gone(path):
            return {"path": path}
        case _:
            assert_never(problem)


def _problem(path: str, reason: str | None = None) -> Unreadable | Gone:
    return Gone(path) if reason is None else Unreadable(path, reason)


def _file(packed: dict[str, Any]) -> AddFile:
    # JSON has one kind of sequence, but a file's fields must be hashable.
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in packed.items()
    }
    return AddFile(**fields)
