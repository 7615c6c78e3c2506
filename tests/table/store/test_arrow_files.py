"""Any store as a file system of pyarrow: what it reads, what it refuses, what it says of files that aren't there."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.arrow_files import arrow_file_system, system_failure
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from support.parquet import parquet
from support.stores.memory import MemoryStore


def stores(tmp_path: Path) -> Iterator[Store]:
    yield MemoryStore()
    yield LocalStore(str(tmp_path), SystemAmbient(), durable=False)


def test_pyarrow_reads_a_folder_of_any_store(tmp_path: Path) -> None:
    for store in stores(tmp_path):
        store.put("data/x/a.parquet", parquet(pa.table({"a": [1]})))
        store.put("data/y/b.parquet", parquet(pa.table({"a": [2]})))
        dataset = ds.dataset("data", filesystem=arrow_file_system(store), format="parquet")
        assert sorted(dataset.to_table().column("a").to_pylist()) == [1, 2]


def test_the_arrow_file_system_is_read_only() -> None:
    """`NotImplementedError` is how pyarrow's own file systems say that they can't do a thing."""
    with pytest.raises(NotImplementedError, match="opened for reading"):
        arrow_file_system(MemoryStore()).delete_file("a")


def test_the_arrow_file_system_says_what_is_not_there() -> None:
    files = arrow_file_system(MemoryStore())
    with pytest.raises(FileNotFoundError, match="there is no file memory://test/nothing"):
        files.open_input_file("nothing")


@pytest.mark.parametrize(
    ("error", "is_the_systems"),
    [
        (OSError(errno.EIO, "Input/output error"), True),
        (PermissionError(errno.EACCES, "Permission denied"), True),
        (OSError("Unexpected end of stream"), False),
        (pa.ArrowInvalid("no Parquet magic bytes"), False),
        (MemoryError(), False),
    ],
    ids=["EIO", "EACCES", "end of stream", "magic", "memory"],
)
def test_the_systems_failures_are_told_from_what_pyarrow_says_of_bytes(error: Exception, is_the_systems: bool) -> None:
    """Break: `system_failure` doesn't look at the `errno`."""
    found = system_failure(MemoryStore(), "a.parquet", error)
    assert (found is not None) is is_the_systems
    assert found is None or f"could not read memory://test/a.parquet: {error.args[1]}" in str(found)
