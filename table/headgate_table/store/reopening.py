"""The pickle of a store: its address and settings. Unpickling opens it again, with a clock and threads of its own.

A pickle holds the given credentials, because executors need them: protect it as you protect them. Credentials from a
cloud's own chain are not included.
"""

from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.interface import Store
from headgate_table.store.settings import StoreSettings


def reopened(uri: str, settings: StoreSettings) -> Store:
    from headgate_table.store.open import open_store  # it imports the stores, which import this function

    return open_store(uri, settings, SystemAmbient())


Reopening = tuple[object, tuple[str, StoreSettings]]
"""What a store's `__reduce__` returns."""
