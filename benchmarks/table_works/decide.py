"""Deciding: what a committer does with a hundred proposals in memory, for a table that it holds.

From proposals to the version's actions, with what has to be looked up for them; nothing is written. Time and memory are
what a committer promises of a table with a million live files.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from parts.measuring import Measured, repeat
from parts.tables import PARTITION, partition_of, path_of
from table_works.work import DELTA, HEADGATE, ICEBERG, HasNone, Task, Work, large_sizes

if TYPE_CHECKING:
    from headgate_committer.deciding.grouping import OpenedProposal

PROPOSALS = 100
_NO_COMMITTER = HasNone("no committer: every writer decides by itself, which the work append measures")


def _headgate(task: Task) -> Measured:
    from headgate_committer.context import CommitterContext
    from headgate_committer.proposals.answers import ProposalBatch
    from headgate_committer.versions.version_log import LoadedVersions, VersionLog
    from headgate_schemas.ambient import SystemAmbient
    from headgate_schemas.messages.sources import Source
    from headgate_table.avro import decode  # noqa: F401  # imports are not part of the work
    from headgate_table.caching.resources import lean_resources
    from headgate_table.indextables.log.reader import LogReader
    from headgate_table.settings.options import table_options
    from headgate_table.store.open import StoreSettings, open_store

    ambient = SystemAmbient()
    groups = itertools.count()
    source = Source("benchmark", "proposals", 0)
    waiting: list[OpenedProposal] = []
    loaded: list[LoadedVersions] = []
    with ThreadPoolExecutor(1) as background:
        store = open_store(task.folder, StoreSettings(), ambient)
        reader = LogReader(store, lean_resources(ambient.monotonic_s))
        context = CommitterContext(ambient, "benchmark", background, background)
        log = VersionLog(reader, table_options, context)

        def prepare() -> None:
            waiting[:] = _proposals(task.folder, next(groups), ambient.now_ms())

        def work() -> str:
            if not loaded:  # in the first run, whose memory counts and whose time doesn't
                loaded.append(log.load())
            draft = loaded[0].plan(waiting, ProposalBatch(source, [item.undecided for item in waiting], 0))
            assert not isinstance(draft, tuple), draft
            return f"version {draft.version} of {len(draft.answers)} proposals"

        return repeat(task.runs, prepare, work)


def _proposals(table: str, group: int, now_ms: int) -> "list[OpenedProposal]":
    from headgate_bus.interface import Record
    from headgate_committer.deciding.grouping import OpenedProposal
    from headgate_committer.proposals.intake import QueuedProposal
    from headgate_schemas.actions.actions import AddFile
    from headgate_schemas.messages.operations import Append
    from headgate_schemas.messages.proposals import encode_proposal, new_proposal

    items: list[OpenedProposal] = []
    for number in range(PROPOSALS):
        path, values = path_of(number, f"decide{group}"), {PARTITION: partition_of(number)}
        operation = Append((AddFile(path=path, partition_values=values, size=1000, modification_time=1),))
        proposal = new_proposal(
            operation, proposal_id=f"{group}-{number}", table=table, created_ms=now_ms, author="benchmark"
        )
        record = Record(0, number, now_ms, table, encode_proposal(proposal))
        items.append(OpenedProposal(QueuedProposal(record, proposal), operation))
    return items


DECIDE = Work(
    "decide on 100 appends of one file each, in a committer that holds the table; memory: of holding it",
    {HEADGATE: _headgate, DELTA: _NO_COMMITTER, ICEBERG: _NO_COMMITTER},
    large_sizes,
)
