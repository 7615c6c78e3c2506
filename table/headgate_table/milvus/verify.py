"""Verifies a Milvus table: its manifests, commit records, and the existence of data files."""

from collections.abc import Mapping, Sequence

from headgate_schemas.messages.sources import Source
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.interface.findings import Findings, VerifyReport
from headgate_table.milvus.committed.log import RecordedLog
from headgate_table.milvus.committed.records import ManifestId, VersionRecord
from headgate_table.milvus.format.encoding import what_is_lost
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.names import METADATA_FOLDER, manifest_key
from headgate_table.milvus.format.paths import ManifestBase, resolved
from headgate_table.milvus.rules.file_changes import dropped
from headgate_table.store.paths import is_key

_FROM_A_COPY = "bring the file back from a copy of the table"
_FROM_A_COPY_OR_AWAY = f"{_FROM_A_COPY}; if its writer was interrupted, move it away"


def verify_manifests(log: RecordedLog, *, data_files: bool = True) -> VerifyReport:
    """Check every manifest, every record, and every file that the newest manifest names. A failing store still raises."""
    findings = Findings()
    found = log.found()
    for name in found.odd:
        findings.error(
            f"{METADATA_FOLDER}{name}",
            "other writers take its name for the newest version, which they then can't open",
            "move it away",
        )
    missing = _gaps(found.versions)
    if missing:
        findings.note(METADATA_FOLDER, f"{missing} versions between the first and the newest are gone", "nothing to do")
    ids: dict[int, ManifestId] = {}
    newest: Manifest | None = None
    before: tuple[int, Manifest] | None = None
    lacking: dict[int, str] = {}
    for version in found.versions:
        key = manifest_key("", version)
        read = findings.attempt(key, lambda version=version: log.read(version), _FROM_A_COPY_OR_AWAY)  # type: ignore[misc]  # bound per turn
        findings.versions += 1
        findings.manifests += 1
        if read is None:
            continue
        ids[version] = read.id
        if before is not None and before[0] == version - 1 and (lacks := dropped(before[1], read.manifest)):
            lacking[version] = lacks.counted
        before = version, read.manifest
        newest = read.manifest if version == found.latest else None
    if newest is not None:
        _check_newest(findings, log, found.latest, newest, data_files=data_files)
    recorded = log.recorded()
    ours = _check_records(findings, log, ids, recorded)
    _check_dropped(
        findings, {version: lacks for version, lacks in lacking.items() if version not in ours}, bool(recorded)
    )
    return findings.report(log.uri, found.latest or -1)


def _gaps(versions: tuple[int, ...]) -> int:
    return versions[-1] - versions[0] + 1 - len(versions) if versions else 0


def _check_newest(findings: Findings, log: RecordedLog, version: int, manifest: Manifest, *, data_files: bool) -> None:
    key = manifest_key("", version)
    for lost in what_is_lost(manifest, manifest.form):
        findings.warning(key, f"it holds {lost}, which this Headgate can't keep", "write it with a newer Headgate")
    rows = {group.num_rows for group in manifest.column_groups}
    if len(rows) > 1:
        findings.warning(
            key,
            f"its column groups hold different numbers of rows: {', '.join(map(str, sorted(rows)))}",
            "find out which group lacks files",
        )
    findings.entries += manifest.num_files
    if data_files:
        _check_files(findings, log, manifest)


def _check_files(findings: Findings, log: RecordedLog, manifest: Manifest) -> None:
    """The files inside of the table; Headgate doesn't reach others."""
    there = resolved(manifest, ManifestBase("", log.uri))
    paths = [file.path for group in there.column_groups for file in group.files]
    paths += [delta.path for delta in there.delta_logs]
    paths += [path for stat in there.stats.values() for path in stat.paths]
    elsewhere = 0
    for path in dict.fromkeys(paths):
        if not is_key(path):
            elsewhere += 1
            continue
        findings.data_files += 1
        if log.store.head(path) is None:
            findings.error(path, "the newest manifest names it, and it isn't there", _FROM_A_COPY)
    if elsewhere:
        findings.note(log.uri, f"{elsewhere} files lie outside of the table and were not looked for", "nothing to do")


def _check_dropped(findings: Findings, lacking: Mapping[int, str], has_committer: bool) -> None:
    """Foreign versions that lack contents of the version before. Each is a note if only foreign writers were at work."""
    tell = findings.warning if has_committer else findings.note
    for version, lacks in lacking.items():
        tell(
            manifest_key("", version),
            f"another program wrote this version, and it lacks what version {version - 1} held: {lacks}",
            f"where that program compacted the table, nothing; where it wrote over an older version, propose again what is "
            f"missing: version {version - 1} shows it",
        )


def _check_records(
    findings: Findings, log: RecordedLog, ids: Mapping[int, ManifestId], recorded: Sequence[ManifestId]
) -> set[int]:
    """Check all records. Returns the versions that a committer decided."""
    ours: set[int] = set()
    positions: dict[Source, int] = {}
    others: list[VersionRecord] = []
    unused = 0
    for id_ in recorded:
        is_version = ids.get(id_.version) == id_
        record: VersionRecord | None
        try:
            record = log.record(id_)
        except (CorruptTable, UnsupportedTable) as error:
            if is_version:
                findings.error(id_.key, str(error), _FROM_A_COPY)
            else:
                unused += 1
            continue
        if record is None or not is_version:
            unused += 1
            others += [] if record is None or id_.version not in ids else [record]
            continue
        if record.commit is not None:
            ours.add(id_.version)
        if record.commit is not None and record.commit.settled is not None:
            settled = record.commit.settled
            positions[settled.source] = max(settled.next_offset, positions.get(settled.source, 0))
        parent = record.parent
        if parent is not None and record.commit is not None and ids.get(parent.version, parent) != parent:
            findings.error(
                manifest_key("", parent.version),
                f"version {id_.version} was decided upon other bytes than those that are there: it was replaced",
                "bring back what the committer wrote; on a local disk, let the other library write elsewhere",
            )
    for record in others:
        _check_other(findings, record, positions)
    if unused:
        findings.note(
            "_headgate/commits/",
            f"{unused} records are of manifests that never came to be, or are gone",
            "nothing to do",
        )
    return ours


def _check_other(findings: Findings, record: VersionRecord, positions: Mapping[Source, int]) -> None:
    """A record beside a manifest with other bytes: usually of a lost race, whose proposals were decided in a later
    version.
    """
    settled = None if record.commit is None else record.commit.settled
    if settled is not None and settled.next_offset > positions.get(settled.source, 0):
        ids = "" if record.commit is None else ", ".join(decision.id for decision in record.commit.decisions[:3])
        findings.warning(
            record.id.key,
            f"another writer's manifest has this number, and no version holds what was decided here about {ids}",
            "where a committer is yet to decide that anew, nothing; where its authors have receipts, the manifest was "
            "replaced: propose that again with new ids",
        )
