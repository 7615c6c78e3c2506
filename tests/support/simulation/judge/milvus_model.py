"""What is known of one Milvus table by what its store was told, and by what was asked: it knows nothing of Headgate's own rules
for records, seals and memory, only what must be true of versions.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate_schemas.messages.operations import Milvus, RejectCode, Writer
from headgate_schemas.milvus import Resolver, Updates
from headgate_table.milvus.committed.records import RECORDS, ManifestId, digest_of, parse_key
from headgate_table.milvus.format.encoding import decode_manifest
from headgate_table.milvus.format.names import METADATA_FOLDER, found_manifests
from support.committing.transactions import names_in
from support.simulation.judge.broken import must
from support.simulation.judge.codes import may_hold
from support.simulation.judge.decisions import judge_order
from support.simulation.judge.model import Decided
from support.simulation.world.real_time import judge_real_time

TALLY = "tally"
"""The key of a stat that authors read and set anew with one path more."""


def names_of(updates: Updates) -> list[str]:
    """The files and logs that a transaction of the workload adds."""
    groups = [group for append in updates.appended_files for group in append]
    paths = [file.path for group in groups for file in group.files]
    paths += [log.path for log in updates.added_delta_logs]
    return [path.rpartition(".")[0] for path in paths]


@dataclass(slots=True)
class MilvusModel:
    uri: str
    asked: dict[str, Milvus] = field(default_factory=dict)
    """By proposal, what was asked for. Several proposals may ask for the same names: one of them may have them."""
    strangers: set[str] = field(default_factory=set)
    """Names that other programs add."""
    echoed: set[str] = field(default_factory=set)
    """Names of proposals that another program adds as well."""
    contents: list[Counter[str]] = field(default_factory=lambda: [Counter()])
    """By version, what its manifest holds; version 0 is empty."""
    tallies: list[tuple[str, ...]] = field(default_factory=lambda: [()])
    """By version, the paths of the stat that authors read and set anew."""
    changed_in: list[int] = field(default_factory=lambda: [0])
    """By version, the oldest from which on nothing was changed up to it."""
    digests: dict[int, str] = field(default_factory=dict)
    records: dict[ManifestId, Mapping[str, Any]] = field(default_factory=dict)
    foreign: int = 0
    decided: dict[str, Decided] = field(default_factory=dict)
    seqs: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    writers: dict[str, Writer | None] = field(default_factory=dict)
    record_at: dict[tuple[str, str, int, int], list[tuple[int, str]]] = field(default_factory=dict)
    proposed_ms: dict[str, int] = field(default_factory=dict)
    acknowledged: int = -1
    proposed_after: dict[str, int] = field(default_factory=dict)
    newest_offset: dict[tuple[str, str, int], tuple[int, int]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """The world's: proposals of which the bus lost a record before anybody had answered it."""
    is_cut: bool = False
    newest_term: tuple[int, str] = (-1, "")

    def home(self) -> int:
        return 0

    @property
    def newest(self) -> int:
        return len(self.contents) - 1

    # -- as the witness of the store

    def written(self, key: str, data: bytes) -> None:
        if key.startswith(RECORDS):
            self._record(key, data)
        elif key.startswith(METADATA_FOLDER):
            self._manifest(key.removeprefix(METADATA_FOLDER), data)

    def deleted(self, key: str, modified_ms: int) -> None:
        must(not key.startswith(METADATA_FOLDER), f"{self.uri}: {key} was deleted (invariant 7)")

    def _record(self, key: str, data: bytes) -> None:
        id_ = parse_key(key)
        assert id_ is not None, key
        must(id_ not in self.records, f"{self.uri}: the record {key} was written twice (invariant 2)")
        body = json.loads(data)
        self.records[id_] = body
        if self.digests.get(id_.version) == id_.digest:
            # A stranger wrote the same bytes before. That is one version for both, unless a committer knew it as foreign.
            above = [later.version for later in self.records if self._counts(later) and later.version > id_.version]
            must(
                body["commitInfo"] is None or not above,
                f"{self.uri}: a record of decisions came for version {id_.version}, under records of {above} (invariant 1)",
            )
            if body["commitInfo"] is not None:
                self._decide(id_.version, body["commitInfo"])

    def _counts(self, id_: ManifestId) -> bool:
        return self.digests.get(id_.version) == id_.digest

    def _manifest(self, name: str, data: bytes) -> None:
        [version] = found_manifests([name]).versions
        must(
            version == self.newest + 1,
            f"{self.uri}: manifest {version} was written upon {self.newest} (invariant 2)",
        )
        manifest = decode_manifest(data, name)
        content = Counter(names_in(manifest))
        twice = sorted(held for held, count in content.items() if count > 1)
        must(not twice, f"{self.uri}: version {version} holds {twice} twice")
        id_ = ManifestId(version, digest_of(data))
        self.digests[version] = id_.digest
        record = self.records.get(id_)
        self.contents.append(content)
        self.tallies.append(tuple(manifest.get_stat(TALLY)))
        self.changed_in.append(version)
        if record is None or record["commitInfo"] is None:
            self.foreign += 1
            fresh = content - self.contents[version - 1]
            must(
                set(fresh) <= self.strangers | self.echoed,
                f"{self.uri}: version {version} has no record, and adds {sorted(fresh)}, which only proposals asked for",
            )
            return
        self._decide(version, record["commitInfo"])

    def _decide(self, version: int, info: Mapping[str, Any]) -> None:
        """What the version says of proposals, against what it holds."""
        expected = Counter(self.contents[version - 1])
        tally = self.tallies[version - 1]
        accepted = 0
        for decision in info["decisions"]:
            identity, offset = decision["id"], decision["offset"]
            before = self.decided.get(identity)
            must(
                before is None,
                f"{self.uri}: {identity} is decided in version {version}, and was in {before} (invariants 1, 5)",
            )
            judge_order(self, f"{self.uri} version {version}", identity, offset, info["source"])
            judge_real_time(self.proposed_after, identity, version, self.uri)
            self.decided[identity] = Decided(version, decision["accepted"], decision.get("code"), offset)
            if decision["accepted"]:
                accepted += 1
                tally = self._tally_after(identity, tally, version)
                expected = self._after(identity, expected, version)
                continue
            code = RejectCode(decision["code"])
            must(
                may_hold("Milvus", code, by_writer=decision.get("writer") is not None),
                f"{self.uri}: {identity} was refused in version {version} by {code.value}, which no transaction can be refused for",
            )
            if code is RejectCode.PATH_IN_USE:
                must(
                    self.asked[identity].resolver is Resolver.OVERWRITE
                    or not expected.keys().isdisjoint(names_of(self.asked[identity].updates)),
                    f"{self.uri}: {identity} was refused in version {version} for files that the table doesn't hold",
                )
        must(
            self.contents[version] == expected,
            f"{self.uri}: version {version} holds {sorted((self.contents[version] - expected).elements())} too much and "
            f"{sorted((expected - self.contents[version]).elements())} too little for what it decides (invariant 1)",
        )
        must(
            self.tallies[version] == tally,
            f"{self.uri}: version {version} has the tally {self.tallies[version]}, and decides {tally}",
        )
        if not accepted:
            self.changed_in[version] = self.changed_in[version - 1]
        term = (info["committer"]["epoch"], info["committer"]["id"])
        self.newest_term = max(self.newest_term, term)

    def _tally_after(self, identity: str, tally: tuple[str, ...], version: int) -> tuple[str, ...]:
        operation = self.asked[identity]
        if operation.resolver is Resolver.OVERWRITE:
            assert operation.read_version is not None
            tally = self.tallies[operation.read_version]
        asked = operation.updates.added_stats.get(TALLY)
        if asked is None:
            return tally
        read = self.tallies[operation.read_version or 0]
        must(
            tally in (read, asked.paths),
            f"{self.uri}: {identity} set the tally as of version {operation.read_version}, {read}, and was accepted in "
            f"{version} over {tally}",
        )
        return asked.paths

    def _after(self, identity: str, content: Counter[str], version: int) -> Counter[str]:
        operation = self.asked[identity]
        writer = self.writers.get(identity)
        if writer is not None:
            self.seqs.setdefault(writer.app, []).append((writer.seq, version))
        read = operation.read_version
        match operation.resolver:
            case Resolver.MERGE:
                pass
            case Resolver.FAIL:
                assert read is not None
                must(
                    read >= self.changed_in[version - 1] and content == self.contents[version - 1],
                    f"{self.uri}: {identity} read version {read} and was accepted in {version}, though others changed the "
                    f"table in between",
                )
            case Resolver.OVERWRITE:
                assert read is not None
                content = Counter(self.contents[read])
        return content + Counter(names_of(operation.updates))

    # -- at the end

    def check_end(self) -> None:
        """Every acknowledged change is where it was said to be, once, and in the versions after unless one overwrote it."""
        for identity, decided in self.decided.items():
            if decided.accepted:
                for name in names_of(self.asked[identity].updates):
                    must(
                        self.contents[decided.version][name] >= 1,
                        f"{self.uri}: {name} of {identity} isn't in version {decided.version} (invariant 1)",
                    )
