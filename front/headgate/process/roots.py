"""Tests the roots of a process before it starts: their stores must support conditional writes."""

from collections.abc import Callable, Sequence
from pathlib import Path

from headgate.settings.loading import Settings
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.logs import get_logger
from headgate_table.errors import StoreError
from headgate_table.store.backoff import trying_again
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.probe import ProbeReport, probe_conditional_writes

ATTEMPTS = 9
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 5.0
"""Pauses of 23 s in all at most, while the process counts as alive."""

_log = get_logger("headgate.roots")


class NotTrusted(HeadgateError):
    """A store on which commits could overwrite each other."""


def probe_roots(
    roots: Sequence[str], settings: Settings, ambient: Ambient, stopping: Callable[[], bool] = lambda: False
) -> None:
    """Raises `NotTrusted` for a store that ignores conditions, and `StoreError` for one that doesn't answer after some
    retries.

    The probe doesn't create a missing folder of a local root. Once it is `stopping`, nothing more is tried.
    """
    if not roots:
        _log.warning("every_table_is_served", advice="name the allowed roots by --root or HEADGATE_ROOTS")
    for root in roots:
        store = open_store(root, settings.store, ambient)
        try:
            report = _probed(store, root, ambient, stopping)
        except StoreError as error:
            raise StoreError(
                f"the root {root} can't be used: {error}. It was tried {ATTEMPTS} times; `headgate doctor {root}` looks closer"
            ) from error
        finally:
            store.close()
        if report is None:
            return
        if not report.trusted:
            raise NotTrusted(f"tables below {root} are not served: {'; '.join(report.problems)}")
        _log.info("root_is_served", root=store.uri)


def _probed(store: Store, root: str, ambient: Ambient, stopping: Callable[[], bool]) -> ProbeReport | None:
    """The report; None if it is stopping after a failed attempt. One failure isn't final: the next answer may be good."""
    for attempt in trying_again(
        ambient, StoreError, attempts=ATTEMPTS, first_pause_s=FIRST_PAUSE_S, longest_pause_s=LONGEST_PAUSE_S
    ):
        with attempt:
            if attempt.retry_state.attempt_number > 1 and stopping():
                return None
            try:
                if not _may_be_there(store):
                    raise InvalidInput(f"the root {root} is no folder: make it, or mend --root and HEADGATE_ROOTS")
                return probe_conditional_writes(store, ambient)
            except StoreError as error:
                _log.warning(
                    "root_not_tried",
                    root=store.uri,
                    attempt=attempt.retry_state.attempt_number,
                    attempts=ATTEMPTS,
                    reason=str(error),
                )
                raise
    raise AssertionError("the loop ends by returning or raising")


def _may_be_there(store: Store) -> bool:
    """Folders of object stores need not be created."""
    inside = store.local_path("_")
    return inside is None or Path(inside).parent.is_dir()
