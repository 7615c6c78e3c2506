"""`Table` as users import it: the table room's own, which after a direct commit also merges and cleans if its settings
say so.
"""

from collections.abc import Callable, Mapping

from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.operations import Operation, Receipt
from headgate_table.caching.resources import ReadResources
from headgate_table.settings.options import TableOptions, table_options
from headgate_table.store.interface import Store
from headgate_table.table import Table as StoredTable


class Table(StoredTable):
    """One table. Opening it is cheap. Each read of the newest version looks at the store again.

    Changes are committed directly, unless the table was opened with `commit`. If `mergeOnWrite.async.enabled` or
    `purgeOnWrite.async.enabled` is false, a direct commit returns only after the merge or the purge. Examples of the
    methods continue this one.

    Examples:
        >>> a, b = (headgate.DataFile(path=name, size=100, modification_time=0) for name in ("a.parquet", "b.parquet"))
        >>> table = headgate.Table.create("lake/events", "id BIGINT, text STRING")
        >>> table.append([a]).version
        1
        >>> table.snapshot().paths()
        ['a.parquet']
    """

    def __init__(
        self,
        store: Store,
        ambient: Ambient,
        resources: ReadResources,
        settings: Mapping[str, str] | None = None,
        commit: Callable[[Operation], Receipt] | None = None,
    ) -> None:
        super().__init__(store, ambient, resources, settings, commit)
        self._scratch_folder = table_options(settings or {}).merge_temp_folder

    def _after_direct_commit(
        self, operation: Operation, receipt: Receipt, seen_options: Callable[[], TableOptions]
    ) -> None:
        from headgate.upkeep.on_write import after_commit

        after_commit(self, operation, receipt, seen_options, self._ambient, self._scratch_folder)
