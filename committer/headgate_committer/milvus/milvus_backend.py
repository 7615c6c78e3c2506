"""The manifests of a Milvus table as a committer loads them, decides upon them and adds the next, each with its record beside it.

The protocol is told in docs/milvus-protocol.md. What a group of proposals does is
`grouping`'s; reading and writing versions with their records is the table room's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from headgate_committer.backend.commit_events import receipts_of
from headgate_committer.backend.group_selection import select_group
from headgate_committer.backend.interface import DraftSummary, Earlier
from headgate_committer.backend.own_term import OwnTerm
from headgate_committer.context import CommitterContext
from headgate_committer.deciding.grouping import Item, OpenedProposal
from headgate_committer.feed.partition_source import PartitionSource
from headgate_committer.milvus.events import Came, events_of, record_event
from headgate_committer.milvus.grouping import (
    ManifestGroupRule,
    ManifestPlan,
    plan_manifest,
    version_needed,
    without_table,
)
from headgate_committer.milvus.record_sweeping import RecordSweeper
from headgate_committer.proposals.answers import Answer, ProposalBatch
from headgate_committer.proposals.triage import AlreadyDecided, BeyondMemory, Fresh
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import Receipt, RejectCode
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord, Term, record_of
from headgate_table.coordination.memory import MemoryLimits, TableMemory
from headgate_table.coordination.memory_text import format_memory
from headgate_table.coordination.refusals import Refusal
from headgate_table.errors import TableNotFound, UnsupportedTable
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
"""Records that are searched for decisions that may have to be announced again."""

_log = get_logger("headgate.committer")


class MilvusBackend:
    """The manifests at one address, and their records."""

    def __init__(self, store: Store, limits: MemoryLimits, feed: PartitionSource, context: CommitterContext) -> None:
        self.recorded = RecordedLog(store, context.ambient)
        self.own_term = OwnTerm(store.uri, context.identity)
        self.context = context
        self.sweeper = RecordSweeper(self.recorded, feed, context.background)
        self._limits = limits
        self._feed = feed

    @property
    def store(self) -> Store:
        return self.recorded.store

    @property
    def is_there(self) -> bool:
        """Whether there is a table: one look."""
        return self.recorded.found().latest > 0

    def load(self) -> "LoadedManifests":
        standing = self.recorded.stand(None, self.was_announced)
        if standing is None:
            raise TableNotFound(f"there are no Milvus manifests at {self.recorded.uri}")
        record = standing.record
        memory, same_since = recover_memory(self.recorded, record, self._limits)
        term = self.own_term.upon(memory.term)
        manifest = standing.manifest
        assert manifest is not None, "without a known record, the newest is always read"
        _log.info("table_loaded", table=self.recorded.uri, version=record.id.version, epoch=term.epoch)
        return LoadedManifests(self, _Newest(record.id.version, manifest, record, same_since), memory, term)

    def begin(self) -> "LoadedManifests":
        """There is no table yet; the first version will make it."""
        return LoadedManifests(self, _Newest(0, Manifest(), None, 0), TableMemory(self._limits), self.own_term.first())

    def was_announced(self, record: VersionRecord) -> bool:
        """Whether the bus has settled the record. It was committed then, whatever happened to its manifest since."""
        settled = None if record.commit is None else record.commit.settled
        source, announced = self._feed.source, self._feed.announced
        return settled is not None and settled.source == source and settled.next_offset <= announced


@dataclass(frozen=True, slots=True)
class _Newest:
    """The newest known version; 0 is a table without manifests, which has no record."""

    version: int
    manifest: Manifest
    record: VersionRecord | None
    same_since: int
    may_have_successors: bool = False
    """Whether others may have written a next version before this one was known to be ours. The log is followed first then."""


class LoadedManifests:
    """A Milvus table, held in memory. Between its versions everything is read from the records."""

    table_id = None
    base = -1
    states = None

    def __init__(self, backend: MilvusBackend, newest: _Newest, memory: TableMemory, term: Term) -> None:
        self.memory = memory
        self._backend = backend
        self._recorded = backend.recorded
        self._ambient = backend.context.ambient
        self._newest = newest
        self._term = term
        self._is_outdated = False
        """Whether we completed a version of another committer, so that our term is out of date."""

    def announced_since(self, source: Source, committed: int) -> Earlier:
        told: dict[int, Receipt] = {}
        commits: list[CommitEvent] = []
        newest = self._newest.record
        position = self.memory.position(source)
        if newest is None or position is None or position <= committed:
            return Earlier(told, commits)
        record: VersionRecord | None = newest
        ancestors = self._recorded.ancestors(newest)
        for _ in range(MAX_TOLD):
            if record is None:
                break
            commit = record.commit
            if commit is not None and commit.settled is not None and commit.settled.source == source:
                if commit.settled.next_offset <= committed:
                    break
                told |= receipts_of(record.id.version, commit)
                commits.append(record_event(self._recorded.uri, record))
            record = next(ancestors, None)
        return Earlier(told, commits[::-1])

    def records(self) -> Iterator[CommitRecord | None]:
        record = self._newest.record
        return iter(()) if record is None else records_from(self._recorded, record)

    def follow(self, source: Source) -> Earlier | None:
        known = self._newest
        if known.record is None or self._is_outdated:
            return None
        standing = self._recorded.stand(known.record, self._backend.was_announced)
        if standing is None or standing.since is None:
            return None
        if standing.manifest is None:
            self._newest = replace(known, may_have_successors=False)
            return Earlier({}, [])
        # Read before anything moves. After a failed read, the next look begins at the same version.
        came = Came(known.version, known.manifest, standing.since, standing.record.id.version)
        commits = events_of(self._recorded, came, self._ambient.now_ms())
        told: dict[int, Receipt] = {}
        same_since = known.same_since
        for record in standing.since:
            commit = record.commit or CommitRecord()
            self.memory.apply_record(record.id.version, commit)
            if record.is_changed:
                same_since = record.id.version
            if commit.settled is not None and commit.settled.source == source:
                told |= receipts_of(record.id.version, commit)
        self._backend.own_term.check(self.memory.term, self._term)
        self._newest = _Newest(standing.record.id.version, standing.manifest, standing.record, same_since)
        return Earlier(told, commits)

    def is_gone(self) -> bool:
        """Always False. Numbers may have gaps, and the records show missing manifests before anything is written."""
        return False

    def before_deciding(self) -> bool:
        newest = self._newest
        lost = what_is_lost(newest.manifest, newest.manifest.form)
        if lost:
            raise UnsupportedTable(
                f"{self._recorded.uri} can't be written by this Headgate: manifest {newest.version} holds {'; '.join(lost)}, which "
                f"its successor would lose. Update Headgate"
            )
        return newest.may_have_successors

    def select_group(self, triaged: Sequence[AlreadyDecided | BeyondMemory | Fresh]) -> list[Item]:
        rule = ManifestGroupRule(self._newest.version)
        return select_group(triaged, rule, self._recorded.store, self._backend.context.limits.claims)

    def must_follow(self, items: Sequence[Item]) -> bool:
        return False

    def plan(
        self, items: Sequence[Item], batch: ProposalBatch, before: Sequence[Decided] = ()
    ) -> "_ManifestDraft | tuple[Answer, ...]":
        newest = self._newest
        seen = SeenManifest(newest.version, newest.manifest, newest.same_since)
        reads, base = self._reads(items), ManifestBase("", self._recorded.uri)
        plan = plan_manifest(items, seen, self.memory, reads, base)
        data = self._encoded(plan.manifest)
        if isinstance(data, Refusal):  # one transaction is the cause
            plan = plan_manifest(items, seen, self.memory, reads, base, self._misfit)
            data = self._encoded(plan.manifest)
            assert isinstance(data, bytes), "each was asked about"
        if not plan.decisions:
            return plan.answers
        if newest.record is None and not plan.is_changed:
            return without_table(self._recorded.uri, items, plan.answers)
        if newest.version >= MAX_VERSION:
            raise UnsupportedTable(
                f"{self._recorded.uri} has no number left: its newest manifest is {newest.version}, which nobody can have "
                f"reached. Look for a stray file with that number in _metadata, and move it away"
            )
        plan = replace(plan, decisions=(*(each.decision for each in before), *plan.decisions))
        return _ManifestDraft(self, self._record(plan, data, batch), plan, data)

    def _reads(self, items: Sequence[Item]) -> dict[int, Manifest]:
        """The versions that decisions of these proposals depend on, as far as they are there."""
        newest = self._newest
        needed = (version_needed(item.operation) for item in items if isinstance(item, OpenedProposal))
        reads: dict[int, Manifest] = {}
        for version in {version for version in needed if version is not None and version <= newest.version}:
            manifest = newest.manifest if version == newest.version else self._recorded.readable(version)
            if manifest is not None:
                reads[version] = manifest
        return reads

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

    def _record(self, plan: ManifestPlan, data: bytes, batch: ProposalBatch) -> VersionRecord:
        newest = self._newest
        counts = file_counts(newest.manifest, plan.manifest)
        parent = newest.record
        body = commit_body(
            nonce=self._ambient.new_id(),
            time_ms=commit_time_ms(self._recorded.store, self._ambient, self.memory.newest_ms),
            operation="Milvus" if plan.is_changed else "Reject",
            counts=counts,
            decisions=plan.decisions,
            term=self._term,
            settled=batch.settled(plan.answers),
        )
        depth = 0 if parent is None else parent.since_memory + 1
        record = VersionRecord(
            ManifestId(newest.version + 1, digest_of(data)),
            None if parent is None else parent.id,
            record_of(body),
            body,
            is_changed=plan.is_changed,
            counts=counts,
            since_memory=depth,
        )
        if depth >= MEMORY_EVERY:
            record = replace(record, since_memory=0, memory=format_memory(self.memory))
        return record

    def write(self, draft: "_ManifestDraft") -> CommitEvent:
        record, own_term = draft.record, self._backend.own_term
        try:
            is_created = write_recorded(self._recorded, record, draft.data)
        except SpokenFor:
            # Our create made a version of what another had only written down, most likely before it died in the middle. It took
            # its term when we took ours, so it may look later than we are. Whoever has written nothing yet takes the next term,
            # as after any other version that was there first.
            self._is_outdated = not own_term.is_written
            raise
        own_term.write(self._term)
        self.memory.apply_record(record.id.version, record.commit or CommitRecord())
        self._newest = _Newest(
            record.id.version,
            draft.plan.manifest,
            replace(record, body=None, memory=None),  # which is in the store by now
            record.id.version if record.is_changed else self._newest.same_since,
            may_have_successors=not is_created,
        )
        self._backend.sweeper.after_commit(record)
        return record_event(self._recorded.uri, record)


@dataclass(frozen=True, slots=True)
class _ManifestDraft:
    table: LoadedManifests
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
        return self.table.write(self)
