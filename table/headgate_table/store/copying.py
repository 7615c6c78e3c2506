"""Copies an object within a store, in bounded memory and by the store's own calls. It reads and writes the whole
object.
"""

import io

from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import Store
from headgate_table.store.ranged_file import RangedFile

BLOCK_BYTES = 8 << 20
"""Read at a time; a smaller object is copied with one read and one write."""


def copy_object(store: Store, key: str, to: str) -> bool:
    """Write the bytes of `key` to `to`, replacing any object there; False if there is no such object (any more).

    The object must not change meanwhile: a size that differs from the bytes read is a `StoreError`.
    """
    try:
        info = store.head(key)
        if info is None:
            return False
        if info.size <= BLOCK_BYTES:
            store.put(to, store.get(key, max_bytes=BLOCK_BYTES))
        else:
            store.put_stream(to, io.BufferedReader(RangedFile(store, key, info.size), BLOCK_BYTES))
    except ObjectMissing:
        return False
    copied = store.head(to)
    if copied is None or copied.size != info.size:
        raise StoreError(f"the copy of {store.uri}/{key} at {to} is not what was copied; {key} was left where it is")
    return True
