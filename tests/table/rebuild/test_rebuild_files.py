"""REPAIR where nothing of a log is left: which files are taken."""

import pytest

from headgate_table.errors import StoreError
from headgate_table.indextables.format.names import LOG
from support.logs.rebuilding import rebuilt, rows, stored, table_of
from support.parquet import parquet
from support.stores.faulty import Fault, FaultyStore, on


def test_what_is_no_data_file_is_ignored_and_counted() -> None:
    ignored = {
        "_SUCCESS": b"",
        "_metadata": b"PAR1",
        ".hidden/a.parquet": b"-",
        "_old/a.parquet": b"-",
        "_temporary/0/a.parquet": b"-",
        "a.parquet.tmp": b"-",
        "b.parquet~": b"-",
        "#staged.parquet": b"-",
        "_headgate/claims/1.json.zst": b"-",
        "_headgate/quarantine/a.parquet": b"-",
        "readme.md": b"-",
        "README": b"no magic here at all",
        "x.split": b"-",
        "inner/A.parquet": b"-",
        f"inner/{LOG}/{0:020d}.json": b"{}",
        "delta/deep/b.parquet": b"-",
        "delta/_delta_log/0.json": b"{}",
    }
    store = stored({"a.parquet": rows(), **ignored})
    result = rebuilt(store)
    assert table_of(store).snapshot().paths() == ["a.parquet"]
    assert dict(result.ignored) == {
        "hidden": 4,
        "temporary": 4,
        "headgate": 2,
        "not_parquet": 3,
        "other_table": 4,
    }
    assert (result.status, result.total_splits) == ("SUCCESS", 1)


def test_inner_tables_are_named() -> None:
    store = stored({"a.parquet": rows(), "b/a.parquet": rows(), f"b/{LOG}/{0:020d}.json": b"{}"})
    assert any("were left alone: b" in note for note in rebuilt(store).notes)


def test_a_delta_log_beside_the_files_is_pointed_out() -> None:
    store = stored({"a.parquet": rows(), f"_delta_log/{0:020d}.json": b"{}"})
    assert any("_delta_log" in note for note in rebuilt(store).notes)


def test_files_without_an_extension_are_taken_if_they_are_parquet() -> None:
    store = stored({"000000_0": rows(), "000001_0": b"something else that is long enough"})
    result = rebuilt(store)
    assert table_of(store).snapshot().paths() == ["000000_0"]
    assert (result.total_splits, result.ignored["not_parquet"]) == (1, 1)


def test_a_cut_off_file_without_an_extension_that_ends_like_parquet_is_damage() -> None:
    result = rebuilt(stored({"000000_0": rows(), "000001_0": b"PAR1 much too long \xff\xff\xff\x7fPAR1"}))
    assert (result.missing_splits, result.status) == (1, "PARTIAL_SUCCESS")


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"PAR1",
        parquet(rows())[:-20],
        parquet(rows())[:-4] + b"PARE",
        parquet(rows())[:-8] + b"\xff\xff\xff\x7fPAR1",
        b"PAR1" + bytes(100) + b"\x20\x00\x00\x00PAR1",
    ],
    ids=["empty", "magic only", "cut off", "encrypted", "absurd length", "zeros"],
)
def test_a_file_that_can_t_be_read_is_left_out_and_named(damaged: bytes) -> None:
    store = stored({"a.parquet": rows(), "b.parquet": damaged})
    result = rebuilt(store)
    assert table_of(store).snapshot().paths() == ["a.parquet"]
    assert (result.status, result.missing_splits) == ("PARTIAL_SUCCESS", 1)
    (damage,) = result.damage
    assert damage.startswith("b.parquet: ")


def test_of_many_that_can_t_be_read_the_first_are_named_and_all_are_counted() -> None:
    store = stored({"z.parquet": rows(), **{f"{number:04d}.parquet": b"" for number in range(150)}})
    result = rebuilt(store)
    assert (result.missing_splits, len(result.damage)) == (150, 100)


def test_a_file_that_is_deleted_meanwhile_is_left_out() -> None:
    store = stored({"a.parquet": rows(), "b.parquet": rows()})

    class Vanishing(FaultyStore):
        def get_range(self, key: str, start: int, length: int) -> bytes:
            if key == "b.parquet":
                self.inner.delete([key])
            return super().get_range(key, start, length)

    result = rebuilt(Vanishing(store))
    assert result.damage == ("b.parquet: it was deleted while the files were read",)


def test_a_store_that_fails_ends_the_rebuild_and_nothing_is_written() -> None:
    store = stored({f"{name}.parquet": rows() for name in "abc"})
    with pytest.raises(StoreError):
        rebuilt(FaultyStore(store, on("get_range", Fault.REFUSED, key="b.parquet")))
    assert not list(store.list(f"{LOG}/"))
