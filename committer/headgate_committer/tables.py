"""Which tables a committer serves, and how it opens them: within its roots, and under one spelling only."""

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.measures import SILENT, Measures
from headgate_table.caching.resources import ReadResources
from headgate_table.errors import FileInTheWay, StoreError
from headgate_table.indextables.log.reader import LogReader
from headgate_table.settings.options import TableOptions, table_options
from headgate_table.store.addresses import lies_below, table_address
from headgate_table.store.measured import MeasuredStore
from headgate_table.store.open import StoreSettings, open_store


class NotServed(InvalidInput):
    """This committer does not work for the address."""

    is_for_good = True
    """Whether every committer refuses the address, whatever its settings. Only then does the author get a receipt."""


class OutsideRoots(NotServed):
    """A committer with other settings may serve the table, so this one must not answer for it."""

    is_for_good = False


class OtherAddress(NotServed):
    """This committer serves the table by another address. Another committer may serve it by this one."""

    is_for_good = False


class CommitterTables(Protocol):
    """Opens tables for a committer."""

    def reader(self, uri: str) -> LogReader:
        """The table at this address, not read yet. Raises `NotServed`; `StoreError` where the store can't be opened."""
        ...

    def options(self, configuration: Mapping[str, str]) -> TableOptions: ...


class StoredTables:
    """Tables of the stores that the settings name. Without roots, all of them."""

    def __init__(
        self,
        settings: StoreSettings,
        resources: ReadResources,
        ambient: Ambient,
        roots: Sequence[str] = (),
        overrides: Mapping[str, str] | None = None,
        measures: Measures = SILENT,
    ) -> None:
        self._settings = settings
        self._resources = resources
        self._ambient = ambient
        self._overrides = dict(overrides or {})
        self._measures = measures
        self._roots = tuple(table_address(root) for root in roots)

    def reader(self, uri: str) -> LogReader:
        try:
            address = table_address(uri)
            if address != uri:
                # Positions are kept by address. Under two spellings, one table would be decided in two orders.
                raise NotServed(f"{uri!r} is not the one spelling of its address: send proposals to {address!r}")
            if self._roots and not lies_below(uri, self._roots):
                # Checked before anything is opened, so that no foreign store sees our credentials.
                raise OutsideRoots(
                    f"{uri} lies outside of the roots that this committer serves: {', '.join(self._roots)}. If it shall be"
                    f" served, add its root to all committers of the bus and run `headgate dead-letters replay`"
                )
        except NotServed:
            raise
        except InvalidInput as error:
            raise NotServed(str(error)) from None
        self._check_root(uri)
        try:
            store = open_store(uri, self._settings, self._ambient)
        except FileInTheWay as error:
            if not self._is_there_to_stay(error.path, uri):
                raise
            raise OutsideRoots(f"no table of this committer's roots can be there: {error}") from None
        except InvalidInput as error:
            raise OutsideRoots(f"{uri} can't be opened with the settings of this committer: {error}") from None
        return LogReader(MeasuredStore(store, self._measures, self._ambient.monotonic_s), self._resources)

    def _check_root(self, uri: str) -> None:
        """Raise `StoreError` where the local folder of the table's root is missing. Its tables can't be known then."""
        for root in self._roots:
            if lies_below(uri, (root,)) and os.path.isabs(root) and not os.path.isdir(root):
                raise StoreError(f"{root} is no folder any more: is its disk mounted?")

    def _is_there_to_stay(self, file: str, uri: str) -> bool:
        """Whether this file bars the table for good. A file in the place of a root, or above it, may stand in for a disk that
        is not mounted. Then the proposals of the table wait. Without roots, so may every file above the table.
        """
        return lies_below(os.path.dirname(file), self._roots) if self._roots else file == uri

    def options(self, configuration: Mapping[str, str]) -> TableOptions:
        return table_options(configuration, self._overrides)
