"""The small objects beside the table on which the runs of a batch job agree. A run changes one only after it has read
it.
"""

from collections.abc import Callable
from typing import assert_never

from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown

_ATTEMPTS = 10


def job_key(name: str) -> str:
    return f"_headgate/jobs/{name}.json"


def keep(store: Store, key: str, choose: Callable[[bytes | None], bytes | None], max_bytes: int) -> bytes | None:
    """Write the result of `choose` for the present content, unless it is None. Returns the final content.

    `choose` is called again if another run was faster, or if nobody knows which run was.
    """
    for _ in range(_ATTEMPTS):
        try:
            found, etag = store.get_with_etag(key, max_bytes=max_bytes)
        except ObjectMissing:
            body = choose(None)
            if body is None:
                return None
            outcome = store.create(key, body)
        else:
            body = choose(found)
            if body is None:
                return found
            outcome = store.swap(key, body, etag)
        match outcome:
            case Created():
                return body
            case AlreadyExists() | Unknown():
                continue  # the present content is the agreed one
            case _:
                assert_never(outcome)
    raise StoreError(
        f"{store.uri}/{key} could not be written {_ATTEMPTS} times in a row: look after the store, then run the job again"
    )
