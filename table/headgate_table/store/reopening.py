"""What a pickled store is: its address and settings. It is opened anew by whoever unpickles it, with a clock and threads of its own.

A pickle holds the credentials that were given, as executors need them: keep it as you keep them. Those that come from a cloud's own
chain don't travel.
"""

from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.interface import Store
from headgate_table.store.settings import StoreSettings


def reopened(uri: str, settings: StoreSettings) -> Store:
    from headgate_table.store.open import open_store  # which imports the stores, which name this function

    return open_store(uri, settings, SystemAmbient())


Reopening = tuple[object, tuple[str, StoreSettings]]
"""What a store's `__reduce__` returns."""
