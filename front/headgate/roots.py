"""The roots that a process serves, tried before it begins: whether their stores keep the promise that commits rest on."""

from collections.abc import Sequence
from pathlib import Path

from headgate.settings import Settings
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.logs import get_logger
from headgate_table.errors import StoreError
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.probe import probe_conditional_writes

_log = get_logger("headgate.roots")


class NotTrusted(HeadgateError):
    """A store on which commits could overwrite each other."""


def probe_roots(roots: Sequence[str], settings: Settings, ambient: Ambient) -> None:
    """Raises `NotTrusted` for a store that ignores conditions, and `StoreError` for one that doesn't answer.

    The folder of a local root that isn't there yet is not made by a probe.
    """
    if not roots:
        _log.warning("every_table_is_served", advice="name the allowed roots by --root or HEADGATE_ROOTS")
    for root in roots:
        store = open_store(root, settings.store, ambient)
        try:
            if not _may_be_there(store):
                raise InvalidInput(f"the root {root} is no folder: make it, or mend --root and HEADGATE_ROOTS")
            report = probe_conditional_writes(store, ambient)
        except StoreError as error:
            raise StoreError(
                f"the root {root} can't be used: {error}. `headgate doctor {root}` looks closer"
            ) from error
        finally:
            store.close()
        if not report.trusted:
            raise NotTrusted(f"tables below {root} are not served: {'; '.join(report.problems)}")
        _log.info("root_is_served", root=store.uri)


def _may_be_there(store: Store) -> bool:
    """Folders of object stores need no making."""
    inside = store.local_path("_")
    return inside is None or Path(inside).parent.is_dir()
