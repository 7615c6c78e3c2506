"""What people get wrong when they call a transaction: told at once and in words, and nothing of it is committed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.errors import UnsupportedTable
from headgate_table.milvus import ColumnGroup, ColumnGroupFile, Manifest, ManifestForm, Transaction, encode_manifest
from headgate_table.milvus.format.names import manifest_key
from support.ambient import FakeAmbient
from support.milvus.builders import rows
from support.milvus.unknown_fields import with_an_unknown_field
from support.stores.memory import MemoryStore


def _open(store: MemoryStore | None = None, **options: Any) -> Transaction:
    return Transaction.open(store or MemoryStore(), "t", ambient=FakeAmbient(), **options)


def _file(**wrong: Any) -> list[ColumnGroup]:
    return [ColumnGroup(("id",), (ColumnGroupFile("a", 0, 1)._replace(**wrong),))]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"resolver": "merge"}, "give FAIL, MERGE, OVERWRITE, or a function"),
        ({"resolver": None}, "give FAIL, MERGE, OVERWRITE, or a function"),
        ({"form": "raw-1"}, "give a ManifestForm"),
        ({"path_policy": "bare"}, "give a PathPolicy"),
        ({"version": "1"}, "give LATEST"),
        ({"version": None}, "give LATEST"),
        ({"retry_limit": "3"}, "give 0 or more"),
        ({"retry_limit": -1}, "give 0 or more"),
    ],
    ids=str,
)
def test_a_choice_that_is_none_is_told_with_those_that_are(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        _open(**options)


MISUSES: list[tuple[Callable[[Transaction], object], str]] = [
    (lambda it: it.add_delta_log(Path("a.log"), 1), "give it as a text"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.add_delta_log(None, 1), "give it as a text"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.add_delta_log("a.log", 1, "positional"), "give a DeltaLogType"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.append_files(rows("id", "a")), "give a list"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.append_files([]), "appends nothing"),
    (lambda it: it.append_files([{"columns": ["id"]}]), "where a ColumnGroup belongs"),  # type: ignore[list-item]  # misuse
    (lambda it: it.append_files([ColumnGroup("id", ())]), "give a tuple of names"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.append_files([ColumnGroup(("id",), ("a",))]), "where a ColumnGroupFile belongs"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.append_files([ColumnGroup((1,), ())]), "give a text"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.append_files(_file(metadata="text")), "metadata of a is no bytes"),
    (lambda it: it.append_files(_file(properties={"file_size": 7})), "give a text"),
    (lambda it: it.append_files(_file(end_index=1.5)), "give an integer"),
    (lambda it: it.update_stat("k", None), "give a list of paths"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.update_stat("k", [7]), "give it as a text"),  # type: ignore[list-item]  # misuse
    (lambda it: it.update_stat(7, ["a"]), "give a text"),  # type: ignore[arg-type]  # misuse
    (lambda it: it.update_stat("k", ["a"], {"rows": 7}), "give a text"),  # type: ignore[dict-item]  # misuse
]


@pytest.mark.parametrize(("misuse", "said"), MISUSES, ids=[said for _, said in MISUSES])
def test_a_value_of_another_type_is_told_and_not_kept(misuse: Callable[[Transaction], object], said: str) -> None:
    transaction = _open()
    with pytest.raises(InvalidInput, match=said):
        misuse(transaction)
    assert transaction.updates.is_empty


@pytest.mark.parametrize("returned", [None, (), "manifest"])
def test_a_function_that_returns_no_manifest_commits_nothing(returned: object) -> None:
    store = MemoryStore()
    transaction = _open(store, resolver=lambda read, seen, updates: returned)
    with pytest.raises(InvalidInput, match="has to return a Manifest, or Refused"):
        transaction.add_delta_log("a", 1).commit()
    assert list(store.list("")) == []


def test_what_a_function_raises_goes_through_and_commits_nothing() -> None:
    def breaks(read: object, seen: object, updates: object) -> Manifest:
        raise ZeroDivisionError

    store = MemoryStore()
    with pytest.raises(ZeroDivisionError):
        _open(store, resolver=breaks).add_delta_log("a", 1).commit()
    assert list(store.list("")) == []


@pytest.mark.parametrize("version", [1, 2])
def test_no_resolver_drops_the_fields_of_a_newer_release(version: int) -> None:
    store = MemoryStore()
    store.put(manifest_key("t/", 1), encode_manifest(Manifest(form=ManifestForm.CONTAINER_V6)))
    store.put(manifest_key("t/", 2), with_an_unknown_field())
    transaction = _open(store, version=version, resolver=lambda read, seen, updates: read.manifest)
    with pytest.raises(UnsupportedTable, match="would lose the field novelty"):
        transaction.add_delta_log("a", 1).commit()


def test_a_path_of_pathlib_is_an_address_too(tmp_path: Path) -> None:
    with Transaction.open(tmp_path, "t") as transaction:
        assert transaction.add_delta_log("a", 1).commit() == 1
    assert (tmp_path / "t/_metadata/manifest-1.avro").is_file()
