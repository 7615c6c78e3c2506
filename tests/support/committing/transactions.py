"""Milvus transactions for the rig, what a table holds after them, and how a stranger commits in between."""

from headgate_schemas.messages.operations import Milvus
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Resolver, Stat, Updates
from headgate_table.milvus.committed.log import RecordedLog
from headgate_table.milvus.committed.records import VersionRecord, digest_of
from headgate_table.milvus.format.encoding import decode_manifest, encode_manifest
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.names import manifest_key
from headgate_table.milvus.rules.updating import Refused, apply_updates
from headgate_table.store.interface import Created, Store
from support.ambient import FakeAmbient

COLUMNS = ("id", "vector")


def rows(*names: str, columns: tuple[str, ...] = COLUMNS, count: int = 10) -> ColumnGroup:
    """A column group with these files."""
    return ColumnGroup(columns, tuple(ColumnGroupFile(f"{name}.parquet", 0, count) for name in names))


def adding(*names: str) -> Updates:
    """An append of these files."""
    return Updates(appended_files=((rows(*names),),))


def deleting(name: str) -> Updates:
    return Updates(added_delta_logs=(DeltaLog(f"{name}.log", 1),))


def stat(key: str, *paths: str) -> Updates:
    return Updates(added_stats={key: Stat(paths)})


def widening(column: str, name: str, count: int = 10) -> Updates:
    """A new column group."""
    return Updates(added_column_groups=(rows(name, columns=(column,), count=count),))


def merge(updates: Updates) -> Milvus:
    return Milvus(updates)


def fail(updates: Updates, read_version: int) -> Milvus:
    return Milvus(updates, Resolver.FAIL, read_version)


def overwrite(updates: Updates, read_version: int) -> Milvus:
    return Milvus(updates, Resolver.OVERWRITE, read_version)


def recorded(store: Store) -> RecordedLog:
    return RecordedLog(store, FakeAmbient("looking"))


def newest(store: Store) -> int:
    return recorded(store).found().latest


def manifest_of(store: Store, version: int | None = None) -> Manifest:
    number = newest(store) if version is None else version
    return decode_manifest(store.get(manifest_key("", number)), f"manifest-{number}") if number else Manifest()


def names_in(manifest: Manifest) -> list[str]:
    """Of all data files and delta logs, without their endings, in their order."""
    paths = [file.path for group in manifest.column_groups for file in group.files]
    paths += [log.path for log in manifest.delta_logs]
    return [path.rpartition(".")[0] for path in paths]


def record_of(store: Store, version: int) -> VersionRecord | None:
    """The record that counts for a version; None for one that has none."""
    return recorded(store).record(recorded(store).read(version).id)


def next_bytes(store: Store, updates: Updates) -> bytes:
    """What a transaction on the newest version would write."""
    after = apply_updates(manifest_of(store), updates)
    assert not isinstance(after, Refused), after.reason
    return encode_manifest(after)


def foreign_commit(store: Store, updates: Updates) -> int:
    """A version as other programs write it: no record, nothing but the manifest."""
    version = newest(store) + 1
    outcome = store.create(manifest_key("", version), next_bytes(store, updates))
    assert isinstance(outcome, Created)
    return version


def digest_at(store: Store, version: int) -> str:
    return digest_of(store.get(manifest_key("", version)))
