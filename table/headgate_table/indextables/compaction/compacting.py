"""Compacts a table on request: plan, write, commit, and again after conflicts. Workers have their own loop."""

from collections.abc import Callable, Mapping

from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Committed, Operation, Receipt, RejectCode, Rejected
from headgate_table.errors import CorruptTable
from headgate_table.indextables.compaction.compactor import Compactor
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.write.state_writer import StateOvertaken
from headgate_table.settings.options import TableOptions

MAX_PLANS = 3
"""Of one compaction: the first, and those for states that others have written meanwhile. Then it is refused."""

_log = get_logger("headgate.compact")


def compact(
    reader: LogReader,
    ambient: Ambient,
    options_for: Callable[[Mapping[str, str]], TableOptions],
    checkpoint: Callable[[], LoadedLog],
    commit: Callable[[Operation], Receipt],
    *,
    full: bool,
) -> Receipt:
    """See `Table.compact`. `checkpoint` writes a base of the newest version."""
    plans = 0
    while True:
        plans += 1
        log = checkpoint()
        if log.state is None:
            return Committed(log.version, ambient.new_id())
        metadata = reader.metadata(log)
        compactor = Compactor(reader, ambient, options_for(metadata.configuration))
        try:
            plan = compactor.plan(log.state, full=full)
            if not plan.is_needed:
                return Committed(log.version, ambient.new_id())
            receipt = commit(compactor.prepare(log.state, plan, metadata))
        except (CorruptTable, StateOvertaken) as error:
            # Another compaction may have replaced its base, and cleaning may have deleted the base's manifests.
            if plans == MAX_PLANS or reader.latest().plan.base.version <= log.plan.base.version:
                raise
            reason = str(error)
        else:
            if plans == MAX_PLANS or not (isinstance(receipt, Rejected) and receipt.code is RejectCode.BASE_GONE):
                return receipt
            reason = receipt.reason
        # No log names the written manifests; cleaning finds them.
        _log.info("compaction_planned_again", table=reader.store.uri, base=log.plan.base.version, reason=reason)
