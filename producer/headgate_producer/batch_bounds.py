"""Where a batch ends that begins at some offset: agreed once, by whichever run comes first, and kept beside the table.

A run that was killed may have left a proposal on the bus. Were the next run to cut the same records at another offset, its
seq would be another one, and both would be committed. So what begins at the same offset always ends at the same offset.
"""

import json
from dataclasses import dataclass
from typing import assert_never

from headgate_producer.errors import JobStopped
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown

_ATTEMPTS = 10
_MAX_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Offsets from `start` up to, not including, `end`."""

    start: int
    end: int


def bounds_key(app: str) -> str:
    return f"_headgate/jobs/{app}.json"


def agree(store: Store, app: str, wanted: Bounds) -> Bounds:
    """The bounds of the batch at `wanted.start`, or of a later batch where another run is further by now.

    Starts only ever grow, so that a start that was passed can't be agreed on anew.
    """
    key = bounds_key(app)
    body = json.dumps({"format": 1, "start": wanted.start, "end": wanted.end}).encode()
    for _ in range(_ATTEMPTS):
        try:
            data, etag = store.get_with_etag(key, max_bytes=_MAX_BYTES)
        except ObjectMissing:
            outcome = store.create(key, body)
        else:
            known = _parsed(data, store, key)
            if known.start >= wanted.start:
                return known
            outcome = store.swap(key, body, etag)
        match outcome:
            case Created():
                return wanted
            case AlreadyExists() | Unknown():
                continue  # what is there now is what was agreed
            case _:
                assert_never(outcome)
    raise StoreError(
        f"{store.uri}/{key} could not be written {_ATTEMPTS} times in a row: look after the store, then run the job again"
    )


def _parsed(data: bytes, store: Store, key: str) -> Bounds:
    try:
        body = json.loads(data)
        return Bounds(int(body["start"]), int(body["end"]))
    except (ValueError, KeyError, TypeError) as error:
        raise JobStopped(
            f"{store.uri}/{key}, where this job keeps the bounds of its batch, can't be read ({error}). Restore it, or make sure "
            f"that no run's proposal is undecided, and delete it"
        ) from None
