"""Verifies data files by one listing of the table: live ones exist with their size, and there are no others."""

import pyarrow as pa

from headgate_schemas.actions.actions import Metadata
from headgate_table.indextables.cleaning.orphans import OrphanSearch
from headgate_table.indextables.log.inventory import LogInventory
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.rules.named_files import UNTOLD, NamedFiles, file_key, file_keys
from headgate_table.indextables.verify.columns import Described, verify_columns, verify_partition_values
from headgate_table.interface.findings import MAX_FINDINGS, Findings
from headgate_table.store.interface import ObjectInfo

_EVER = 2**63 - 1


def verify_data_files(
    reader: LogReader, inventory: LogInventory, metadata: Metadata, live: pa.Table, findings: Findings
) -> None:
    """`live` are the entries of the newest version: path, size, partition values, number of rows and bounds."""
    values = live.column("partition_values").to_pylist()
    partitions = {path: dict(each or ()) for path, each in zip(live.column("path").to_pylist(), values, strict=True)}
    verify_partition_values(metadata, partitions, findings)
    uri = reader.store.uri
    entries = list(zip(live.column("path").to_pylist(), live.column("size").to_pylist(), strict=True))
    # The literal meaning of a path comes before a possible other one.
    expected = {key: entry for entry in entries if (key := file_key(entry[0], uri)) is not None}
    for path, size in entries:
        keys = file_keys(path, uri)
        if not keys:
            findings.note(path, "the file lies outside of the table, so it was not looked for", "nothing to do")
        for key in keys:
            expected.setdefault(key, (path, size))
    findings.data_files = len({path for path, _ in expected.values()})
    named = _named(reader, inventory, findings)
    historic = set() if named is None else named.keys - set(expected)
    if named is not None:
        named.keys.update(expected)  # the newest version may be newer than the inventory
    search = OrphanSearch(() if named is None else named, _EVER, MAX_FINDINGS)
    found: set[str] = set()
    whole: list[tuple[str, ObjectInfo]] = []
    for info in reader.store.list():
        search.see(info)
        historic.discard(info.key)
        entry = expected.get(info.key)
        if entry is None:
            continue
        path, size = entry
        found.add(path)
        if info.size == size:
            whole.append((path, info))
        if info.size != size:
            findings.error(
                info.key,
                f"it takes {info.size} bytes, but its entry says {size}: it was truncated or replaced",
                "restore the file, or delete it from the table and write it again",
            )
    for path in sorted({path for path, _ in expected.values()} - found):
        findings.error(
            path,
            "the file is missing, but it is live",
            "restore it, or take it out of the table: `table.delete(paths=[…])` in Python",
        )
    verify_columns(reader, metadata, whole, _described(live), findings)
    if historic:
        findings.warning(
            min(historic),
            f"{_files(len(historic))} missing that only earlier versions name; these can't be read or restored whole",
            "restore it from a copy, if these versions are wanted; Headgate never deletes what a retained version names",
        )
    if named is not None:
        for info in search.found(reader.store.list):
            findings.note(
                info.key,
                "no retained version names this file",
                "it may belong to a job that has not committed yet; purge deletes it once it is old",
            )


def _described(live: pa.Table) -> dict[str, Described]:
    columns = (live.column(name).to_pylist() for name in ("path", "num_records", "min_values", "max_values"))
    return {
        path: Described(records, bool(lower) or bool(upper))
        for path, records, lower, upper in zip(*columns, strict=True)
    }


def _files(count: int) -> str:
    return "1 file is" if count == 1 else f"{count:,} files are"


def _named(reader: LogReader, inventory: LogInventory, findings: Findings) -> NamedFiles | None:
    """Every file that a retained version names; None if an unreadable part hides some."""
    named = NamedFiles(reader)
    try:
        named.add_log(inventory)
    except UNTOLD:
        findings.note(
            reader.store.uri,
            "files that nothing names were not looked for, since a part of the log can't be read",
            "mend the log first",
        )
        return None
    return named
