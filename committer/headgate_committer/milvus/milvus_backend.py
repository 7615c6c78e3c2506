"""The manifests of a Milvus table as a committer decides upon them and adds the next, each with its record beside it.

The protocol is told in docs/milvus-protocol.md. What a group of proposals does is
`grouping`'s; reading and writing versions with their records is the table room's.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from headgate_committer.deciding.grouping import Item, OpenedProposal
from headgate_committer.milvus.events import Came, events_of, record_event
from headgate_committer.milvus.grouping import (
    ManifestPlan,
    overwrites,
    plan_manifest,
    version_needed,
    without_table,
)
from headgate_committer.milvus.record_sweeping import RecordSweeper
from headgate_committer.proposals.answers import Answer
from headgate_committer.proposals.intake import UndecidableRecord
from headgate_committer.proposals.triage import AlreadyDecided, BeyondMemory, Fresh
from headgate_committer.table.commit_events import receipts_of
from headgate_committer.table.guards import check_term
from headgate_committer.table.table_backend import DraftSummary, Earlier, OpenOperation, SettledBy
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import Milvus, Receipt, RejectCode
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord, Term, record_of
from headgate_table.coordination.memory import MemoryLimits, TableMemory
from headgate_table.coordination.memory_text import format_memory
from headgate_table.errors import TableNotFound, UnsupportedTable
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.rules.decide import Refusal
from headgate_table.indextables.write.commit_times import commit_time_ms
from headgate_table.indextables.write.version_body import Decided
from headgate_table.milvus.committed.log import RecordedLog, records_from, recover_memory
from headgate_table.milvus.committed.records import (
    ManifestId,
    VersionRecord,
    commit_body,
    digest_of,
)
from headgate_table.milvus.committed.writer import SpokenFor, write_recorded
from headgate_table.milvus.format.encoding import encode_manifest, what_is_lost
from headgate_table.milvus.format.limits import MAX_VERSION
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.paths import ManifestBase
from headgate_table.milvus.rules.decide import SeenManifest
from headgate_table.milvus.rules.file_changes import file_counts
from headgate_table.store.interface import Store

MEMORY_EVERY = 32
"""Records between two that carry the whole memory: so many are read at most when a table is taken over."""
MAX_TOLD = 100_000
"""Records that are looked through for what may have to be announced again."""

_log = get_logger("headgate.committer")


@dataclass(slots=True)
class _Held:
    """What is known of the table at its newest version; 0 is a table without manifests, which has no record."""

    version: int
    manifest: Manifest
    record: VersionRecord | None
    memory: TableMemory
    same_since: int
    term: Term
    may_have_successors: bool = False
    """Whether others may have written upon it before it was known to be ours: then it isn't decided upon unlooked."""


class MilvusBackend:
    """A Milvus table, held in memory. Between its versions everything is read from the records."""

    def __init__(
        self,
        store: Store,
        ambient: Ambient,
        identity: str,
        limits: MemoryLimits,
        announced: Callable[[], tuple[Source, int]],
        background: Executor,
    ) -> None:
        """`announced` tells up to which offset of which source everything is settled."""
        self.recorded = RecordedLog(store, ambient)
        self._ambient = ambient
        self._identity = identity
        self._limits = limits
        self._base = ManifestBase("", store.uri)
        self._announced = announced
        self._sweeper = RecordSweeper(self.recorded, announced, background)
        self._held: _Held | None = None
        self._claimed: Term | None = None

    @property
    def store(self) -> Store:
        return self.recorded.store

    @property
    def is_loaded(self) -> bool:
        return self._held is not None

    @property
    def is_there(self) -> bool:
        """Whether there is a table: one look."""
        return self.recorded.found().latest > 0

    @property
    def table_id(self) -> str | None:
        return None

    @property
    def memory(self) -> TableMemory:
        return self._known().memory

    @property
    def base(self) -> int:
        return -1

    @property
    def newest_state(self) -> StateManifest | None:
        return None

    def load(self) -> None:
        standing = self.recorded.stand(None, self._was_announced)
        if standing is None:
            raise TableNotFound(f"there are no Milvus manifests at {self.recorded.uri}")
        record = standing.record
        memory, same_since = recover_memory(self.recorded, record, self._limits)
        check_term(self.recorded.uri, memory.term, self._claimed)
        epoch = 1 if memory.term is None else memory.term.epoch + 1
        term = self._claimed or Term(epoch, self._identity)
        manifest = standing.manifest
        assert manifest is not None, "without a known record, the newest is always read"
        self._held = _Held(record.id.version, manifest, record, memory, same_since, term)
        _log.info("table_loaded", table=self.recorded.uri, version=record.id.version, epoch=term.epoch)

    def begin(self) -> None:
        """There is no table yet; the first version will make it."""
        self._held = _Held(0, Manifest(), None, TableMemory(self._limits), 0, Term(1, self._identity))

    def forget(self) -> None:
        self._held = None

    def announced_since(self, source: Source, committed: int) -> Earlier:
        held = self._known()
        told: dict[int, Receipt] = {}
        commits: list[CommitEvent] = []
        position = held.memory.position(source)
        if held.record is None or position is None or position <= committed:
            return Earlier(told, commits)
        record: VersionRecord | None = held.record
        ancestors = self.recorded.ancestors(held.record)
        for _ in range(MAX_TOLD):
            if record is None:
                break
            commit = record.commit
            if commit is not None and commit.settled is not None and commit.settled.source == source:
                if commit.settled.next_offset <= committed:
                    break
                told |= receipts_of(record.id.version, commit)
                commits.append(record_event(self.recorded.uri, record))
            record = next(ancestors, None)
        return Earlier(told, commits[::-1])

    def records(self) -> Iterator[CommitRecord | None]:
        record = self._known().record
        return iter(()) if record is None else records_from(self.recorded, record)

    def follow(self, source: Source) -> Earlier:
        held = self._known()
        standing = None if held.record is None else self.recorded.stand(held.record, self._was_announced)
        if standing is None or standing.since is None:
            return Earlier({}, [], is_same_table=False)
        if standing.manifest is None:
            held.may_have_successors = False
            return Earlier({}, [])
        # Before anything moves: where it can't be read now, the next look begins at the same version.
        came = Came(held.version, held.manifest, standing.since, standing.record.id.version)
        commits = events_of(self.recorded, came, self._ambient.now_ms())
        told: dict[int, Receipt] = {}
        for record in standing.since:
            commit = record.commit or CommitRecord()
            held.memory.apply_record(record.id.version, commit)
            if record.is_changed:
                held.same_since = record.id.version
            if commit.settled is not None and commit.settled.source == source:
                told |= receipts_of(record.id.version, commit)
        check_term(self.recorded.uri, held.memory.term, self._claimed or held.term)
        held.version, held.manifest, held.record = standing.record.id.version, standing.manifest, standing.record
        held.may_have_successors = False
        return Earlier(told, commits)

    def is_gone(self) -> bool:
        """Numbers may have gaps here. That manifests were taken back shows by the records, before anything is written."""
        return False

    def before_deciding(self) -> bool:
        held = self._known()
        lost = what_is_lost(held.manifest, held.manifest.form)
        if lost:
            raise UnsupportedTable(
                f"{self.recorded.uri} can't be written by this Headgate: manifest {held.version} holds {'; '.join(lost)}, which "
                f"its successor would lose. Update Headgate"
            )
        return held.may_have_successors

    def opened(
        self, sorted_out: Sequence[AlreadyDecided | BeyondMemory | Fresh], open_operation: OpenOperation
    ) -> list[Item]:
        """A transaction that overwrites begins a group, and so does one that needs another earlier version than those before
        it: one earlier manifest is in memory at most.

        Where there is no table yet, a group ends before what isn't a transaction: nobody knows whether there will be one.
        """
        newest = self._known().version
        earlier: int | None = None
        items: list[Item] = []
        for entry in sorted_out:
            if isinstance(entry, AlreadyDecided):
                items.append(entry)
                continue
            if isinstance(entry, BeyondMemory):
                items.append(entry.aside)
                continue
            opened = open_operation(entry.undecided)
            if isinstance(opened, UndecidableRecord):
                items.append(opened)
                continue
            needed = version_needed(opened)
            needed = None if needed is None or needed >= newest else needed
            begins = overwrites(opened) or not (newest > 0 or isinstance(opened, Milvus))
            begins = begins or not (needed is None or earlier is None or needed == earlier)
            if begins and any(isinstance(item, OpenedProposal) for item in items):
                break
            earlier = earlier if needed is None else needed
            items.append(OpenedProposal(entry.undecided, opened))
        return items

    def must_follow(self, items: Sequence[Item]) -> bool:
        return False

    def plan(
        self, items: Sequence[Item], settled_by: SettledBy, before: Sequence[Decided] = ()
    ) -> "_ManifestDraft | tuple[Answer, ...]":
        held = self._known()
        seen = SeenManifest(held.version, held.manifest, held.same_since)
        reads = self._reads(items)
        plan = plan_manifest(items, seen, held.memory, reads, self._base)
        data = self._encoded(plan.manifest)
        if isinstance(data, Refusal):  # one of them must be to blame
            plan = plan_manifest(items, seen, held.memory, reads, self._base, self._misfit)
            data = self._encoded(plan.manifest)
            assert isinstance(data, bytes), "each was asked about"
        if not plan.decisions:
            return plan.answers
        if held.record is None and not plan.is_changed:
            return without_table(self.recorded.uri, items, plan.answers)
        if held.version >= MAX_VERSION:
            raise UnsupportedTable(
                f"{self.recorded.uri} has no number left: its newest manifest is {held.version}, which nobody can have "
                f"reached. Look for a stray file with that number in _metadata, and move it away"
            )
        plan = replace(plan, decisions=(*(each.decision for each in before), *plan.decisions))
        return self._draft(held, plan, data, settled_by)

    # ---- beside the commits

    @property
    def is_behind(self) -> bool:
        return False

    @property
    def can_catch_up(self) -> bool:
        return True

    def catch_up(self) -> None:
        """There are no states."""

    def finish(self) -> None:
        """Nothing has to be waited for: deleting old records can end anywhere."""

    def _was_announced(self, record: VersionRecord) -> bool:
        """What the bus has settled was committed, whatever became of its manifest since."""
        source, offset = self._announced()
        settled = None if record.commit is None else record.commit.settled
        return settled is not None and settled.source == source and settled.next_offset <= offset

    # ---- deciding

    def _known(self) -> _Held:
        assert self._held is not None, "only what was read can be decided upon"
        return self._held

    def _reads(self, items: Sequence[Item]) -> dict[int, Manifest]:
        """The versions that these proposals have read and that their decisions depend on, as far as they are there."""
        held = self._known()
        needed = (version_needed(item.operation) for item in items if isinstance(item, OpenedProposal))
        reads: dict[int, Manifest] = {}
        for version in {version for version in needed if version is not None}:
            manifest = held.manifest if version == held.version else self._earlier(version)
            if manifest is not None:
                reads[version] = manifest
        return reads

    def _earlier(self, version: int) -> Manifest | None:
        return None if version > self._known().version else self.recorded.readable(version)

    def _encoded(self, manifest: Manifest) -> bytes | Refusal:
        try:
            return encode_manifest(manifest, sync=bytes.fromhex(self._ambient.new_id()))
        except InvalidInput as error:
            return Refusal(RejectCode.OVER_BOUND, str(error))
        except UnsupportedTable as error:
            return Refusal(RejectCode.INVALID, str(error))

    def _misfit(self, manifest: Manifest) -> Refusal | None:
        data = self._encoded(manifest)
        return data if isinstance(data, Refusal) else None

    def _draft(self, held: _Held, plan: ManifestPlan, data: bytes, settled_by: SettledBy) -> "_ManifestDraft":
        counts = file_counts(held.manifest, plan.manifest)
        parent = held.record
        body = commit_body(
            nonce=self._ambient.new_id(),
            time_ms=commit_time_ms(self.store, self._ambient, held.memory.newest_ms),
            operation="Milvus" if plan.is_changed else "Reject",
            counts=counts,
            decisions=plan.decisions,
            term=held.term,
            settled=settled_by(plan.answers),
        )
        depth = 0 if parent is None else parent.since_memory + 1
        record = VersionRecord(
            ManifestId(held.version + 1, digest_of(data)),
            None if parent is None else parent.id,
            record_of(body),
            body,
            is_changed=plan.is_changed,
            counts=counts,
            since_memory=depth,
        )
        if depth >= MEMORY_EVERY:
            record = replace(record, since_memory=0, memory=format_memory(held.memory))
        return _ManifestDraft(self, record, plan, data)

    def succeed(self) -> None:
        """Our create made a version of what another had only written down, most likely before it died in the middle.

        It took its term when we took ours, so it may look later than we are. Whoever has written nothing yet takes the next
        term, as after any other version that was there first.
        """
        if self._claimed is None:
            self.forget()

    def applied(self, draft: "_ManifestDraft", *, is_created: bool) -> CommitEvent:
        """Our own version is there; whether we made its manifest, or found it with our bytes."""
        held = self._known()
        record = draft.record
        self._claimed = held.term
        held.memory.apply_record(record.id.version, record.commit or CommitRecord())
        if record.is_changed:
            held.same_since = record.id.version
        held.version, held.manifest = record.id.version, draft.plan.manifest
        held.record = replace(record, body=None, memory=None)  # which is in the store by now
        held.may_have_successors = not is_created
        self._sweeper.after_commit(record)
        return record_event(self.recorded.uri, record)


@dataclass(frozen=True, slots=True)
class _ManifestDraft:
    log: MilvusBackend
    record: VersionRecord
    plan: ManifestPlan
    data: bytes

    @property
    def version(self) -> int:
        return self.record.id.version

    @property
    def answers(self) -> tuple[Answer, ...]:
        return self.plan.answers

    @property
    def begins(self) -> bool:
        return False

    @property
    def summary(self) -> DraftSummary:
        commit = self.record.commit
        return DraftSummary(
            operation="" if commit is None else commit.operation,
            proposals=len(self.plan.decisions),
            rejected=sum(not decision.accepted for decision in self.plan.decisions),
            added=self.record.counts.added,
            removed=self.record.counts.removed,
        )

    def write(self) -> CommitEvent:
        try:
            is_created = write_recorded(self.log.recorded, self.record, self.data)
        except SpokenFor:
            self.log.succeed()
            raise
        return self.log.applied(self, is_created=is_created)
