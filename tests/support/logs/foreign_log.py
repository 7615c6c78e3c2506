"""Foreign tables for tests of reading: put together by `writers.handmade`, on any store, also with very many files.

Nothing here uses our own encoders. Large manifests are made of records that differ in their path only.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headgate_table.store.interface import Store
from support.writers import avro_schemas
from support.writers.avro_bytes import JAVA_BLOCK_BYTES, avro_string, block, encode_record, header
from support.writers.handmade import HandMade
from support.writers.handmade import file as small_file
from support.writers.log_folder import compact_json

SYNC = bytes(range(16))
LARGE_FILE_BYTES = 1_000

Build = Callable[[HandMade], object]


def build_on(store: Store, build: Build, *partition_columns: str) -> Store:
    """A table that `build` puts together, copied onto the store object by object."""
    with tempfile.TemporaryDirectory(prefix="headgate-foreign-") as folder:
        root = Path(folder)
        made = HandMade(root, partition_columns)
        made.start()
        build(made)
        copy_to(store, root)
    return store


def as_anothers(data: bytes) -> bytes:
    """An Avro file of ours as another writer would have made it: without the header keys that seal it."""
    return data.replace(b"headgate.name", b"someones.note").replace(b"headgate.sha256", b"someones.number")


def copy_to(store: Store, root: Path) -> None:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            store.put(path.relative_to(root).as_posix(), path.read_bytes())


def one_state(*manifests: Sequence[Mapping[str, Any]], version: int = 1, **changes: Any) -> Build:
    """A table whose newest state has these manifests, each a list of files."""

    def build(made: HandMade) -> None:
        infos = [made.manifest(files) for files in manifests]
        made.state(version, infos, meta=None, **changes)
        made.pointer(version)

    return build


Runs = Sequence[tuple[range, Mapping[str, str]]]
"""The numbers of the files of a partition, partition by partition."""


def large_path(number: int, partition: Mapping[str, str]) -> str:
    folder = "".join(f"{column}={text}/" for column, text in partition.items())
    return f"{folder}part-{number:010d}-0b7c9ad1-4f0e-4a0c-9b59-1c2d3e4f5a6b.parquet"


def large_manifest(runs: Runs) -> bytes:
    """A manifest of many entries: within a partition, equal records but for the number in their path."""
    return b"".join(_large_pieces(runs))


def _large_pieces(runs: Runs) -> Iterator[bytes]:
    schema = compact_json(avro_schemas.file_entry_a()).encode()
    yield header([("avro.schema", schema), ("avro.codec", b"zstandard")], SYNC)
    pending: list[bytes] = []
    held = 0
    for record in (record for numbers, partition in runs for record in _records(numbers, partition)):
        pending.append(record)
        held += len(record)
        if held >= JAVA_BLOCK_BYTES:
            yield block("zstandard", len(pending), b"".join(pending), SYNC)
            pending, held = [], 0
    if pending:
        yield block("zstandard", len(pending), b"".join(pending), SYNC)


def _records(numbers: range, partition: Mapping[str, str]) -> Iterator[bytes]:
    """The Avro bytes of each entry; the path is the first field, the rest is encoded once by fastavro."""
    template = {
        **small_file("any", LARGE_FILE_BYTES, **partition),
        "path": "",
        "minValues": {"id": "1000", "text": "text-1000"},
        "maxValues": {"id": "1999", "text": "text-1999"},
        "footerStartOffset": 700,
        "footerEndOffset": LARGE_FILE_BYTES,
        "hasFooterOffsets": True,
        "uncompressedSizeBytes": 700,
        "docMappingRef": "gC45RGOqJ_Grt0xH",
        "addedAtVersion": 1,
    }
    rest = encode_record(avro_schemas.file_entry_a(), template)[1:]
    for number in numbers:
        yield avro_string(large_path(number, partition)) + rest


def large_table(made: HandMade, manifests: Sequence[Runs], **changes: Any) -> None:
    """A state with these manifests, each with the bounds of its partitions."""
    infos = []
    for runs in manifests:
        info = made.raw_manifest(large_manifest(runs), sum(len(numbers) for numbers, _ in runs))
        partitions = [partition for _, partition in runs]
        bounds = {
            column: {"min": min(texts), "max": max(texts)}
            for column in made.partition_columns
            if (texts := [partition[column] for partition in partitions])
        }
        infos.append({**info, "partitionBounds": bounds or None, "minAddedAtVersion": 1, "maxAddedAtVersion": 1})
    made.state(1, infos, **changes)
    made.pointer(1)


def even_runs(manifests: int, partitions_each: int, files_each: int) -> list[Runs]:
    """Manifests of a table sorted by `date`: day by day, the same number of files for each."""
    found: list[Runs] = []
    for place in range(manifests):
        days = range(place * partitions_each, (place + 1) * partitions_each)
        found.append([(range(d * files_each, (d + 1) * files_each), {"date": day(d)}) for d in days])
    return found


def day(number: int) -> str:
    """Days whose order as text is their order."""
    return f"{2000 + number // 336}-{1 + number // 28 % 12:02d}-{1 + number % 28:02d}"
