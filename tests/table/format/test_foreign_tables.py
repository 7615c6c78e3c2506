"""Tables in the manner of every known writer, and damaged ones: what the reader finds, and how it refuses.

The tables come from `support.writers`, which knows nothing of our code.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headgate_schemas.errors import HeadgateError
from headgate_table.errors import VersionNotRetained
from headgate_table.table import Table
from support.writers.cases.case import Case
from support.writers.cases.cases import CASES
from support.writers.cases.expected import Expected, Fatal, JsonText

NULL_MARKER = "__HIVE_DEFAULT_PARTITION__"

# Rows of the test plan that one case stands for, by the test that asserts it.
FILES_SPEC = {
    "manifest: empty, without a block": "testReadEmptyManifest",
    "entry: 18 fields": "testReadOldSchemaWithNewReader",
    "entry: a string more, last": "testReadNewSchemaWithOldReader",
    "tombstone: hides its path": "testApplyTombstones",
    "scala json: a checkpoint whose earlier versions are deleted": "testReadLegacyJsonCheckpoint",
}
ENTRIES_SPEC = {
    "entry: every optional field set": "testReadAllFields",
    "entry: every optional field null": "testReadNullableFields",
}
REFUSED_SPEC = {
    "state: a missing manifest is named": "testReadMissingManifest",
    "pointer: names a missing state and nothing leads there": "testReadMissingStateDir",
    "manifest: a cut block is refused, naming the file": "testReadTruncatedManifest",
    "manifest: a wrong sync marker is refused, naming the file": "testReadCorruptedManifest",
    "manifest: a cut header is refused, naming the file": "testCorruptedAvroHeader",
    "state: protocolVersion 5 is refused as too new": "testInvalidSchemaVersion",
}


def _cases(*, readable: bool = True, filtered: bool = False, spec: Mapping[str, str] | None = None) -> list[Any]:
    """The cases of a kind, each with the marker of the row that it stands for."""
    chosen = [case for case in CASES if case.readable == readable and (case.filtered or not filtered)]
    rows = dict(spec or {})
    marked = [
        pytest.param(case, id=case.name, marks=[pytest.mark.spec(rows.pop(case.name))] if case.name in rows else [])
        for case in chosen
    ]
    if rows:
        raise ValueError(f"no such cases: {', '.join(rows)}")
    return marked


READABLE = _cases()


@pytest.fixture
def built(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Table, Expected]:
    case: Case = request.param
    root = tmp_path / "table"
    expected = case.build(root)
    assert isinstance(expected, Expected)
    return Table.open(str(root)), expected


@pytest.mark.parametrize("built", _cases(spec=FILES_SPEC), indirect=True)
def test_a_foreign_table_shows_its_live_files(built: tuple[Table, Expected]) -> None:
    table, expected = built
    snapshot = table.snapshot()
    assert (snapshot.version, tuple(sorted(snapshot.paths()))) == (expected.version, expected.paths)


@pytest.mark.parametrize("built", READABLE, indirect=True)
def test_a_foreign_table_shows_its_totals(built: tuple[Table, Expected]) -> None:
    table, expected = built
    snapshot = table.snapshot()
    assert snapshot.num_files == len(expected.paths)
    if expected.total_bytes is not None:
        assert snapshot.total_bytes == expected.total_bytes


@pytest.mark.parametrize("built", READABLE, indirect=True)
def test_a_foreign_table_shows_its_metadata_and_protocol(built: tuple[Table, Expected]) -> None:
    table, expected = built
    assert tuple(table.metadata.partition_columns) == expected.partition_columns
    assert table.metadata.id == expected.table_id
    held = {key: table.metadata.configuration.get(key) for key in expected.configuration}
    assert held == expected.configuration
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == expected.protocol


@pytest.mark.parametrize("built", READABLE, indirect=True)
def test_every_version_of_a_foreign_table_is_found_again(built: tuple[Table, Expected]) -> None:
    table, expected = built
    promised = expected.per_version or {expected.version: expected.paths}
    found = {version: tuple(sorted(table.snapshot(version=version).paths())) for version in promised}
    assert found == promised


@pytest.mark.parametrize("case", READABLE)
def test_a_version_that_nothing_can_rebuild_is_refused(case: Case, tmp_path: Path) -> None:
    """Each table has at least one: the version after its newest."""
    expected = case.build(tmp_path / "table")
    assert isinstance(expected, Expected)
    table = Table.open(str(tmp_path / "table"))
    for version in (*expected.not_retained, expected.version + 1):
        with pytest.raises(VersionNotRetained, match=rf"\b{version}\b"):
            table.snapshot(version=version).paths()


@pytest.mark.parametrize("built", _cases(spec=ENTRIES_SPEC), indirect=True)
def test_entries_of_a_foreign_table_carry_its_values(built: tuple[Table, Expected]) -> None:
    table, expected = built
    columns = sorted({column for values in expected.entries.values() for column in values})
    rows = {row["path"]: row for row in table.snapshot().files(["path", *columns]).to_pylist()}
    assert tuple(sorted(rows)) == expected.paths
    for path, values in expected.entries.items():
        found = {column: _plain(column, rows[path][column]) for column in values}
        assert _decoded(found, values) == {column: _value(value) for column, value in values.items()}


@pytest.mark.parametrize("built", _cases(filtered=True), indirect=True)
def test_filters_on_a_foreign_table_leave_what_matches(built: tuple[Table, Expected]) -> None:
    table, expected = built
    assert expected.where
    found = {where: tuple(sorted(table.snapshot(where=where).paths())) for where in expected.where}
    assert found == expected.where


@pytest.mark.parametrize("case", _cases(readable=False, spec=REFUSED_SPEC))
def test_a_table_that_cannot_be_trusted_is_refused_by_name(case: Case, tmp_path: Path) -> None:
    fatal = case.build(tmp_path / "table")
    assert isinstance(fatal, Fatal)
    with pytest.raises(HeadgateError, match=fatal.match):
        Table.open(str(tmp_path / "table")).snapshot().files()


def _plain(column: str, value: Any) -> Any:
    """Arrow maps as dicts; the marker of a null partition as None, for a reader may show either."""
    if column in ("partition_values", "min_values", "max_values") and value is not None:
        pairs = dict(value)
        return {key: None if text == NULL_MARKER else text for key, text in pairs.items()}
    return value


def _decoded(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {c: json.loads(v) if isinstance(wanted[c], JsonText) else v for c, v in found.items()}


def _value(value: Any) -> Any:
    return value.value if isinstance(value, JsonText) else value
