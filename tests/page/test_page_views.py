"""The files of a version as the page shows them: partitions by weight, and pages of files."""

from collections.abc import Mapping

import pyarrow as pa

from headgate.page.table_views import MAX_PARTITIONS, PAGE_FILES, VersionView, version_view

VALUES = pa.map_(pa.string(), pa.string())


def view(
    *files: tuple[str, int, Mapping[str, str | None]], columns: tuple[str, ...] = ("date", "region")
) -> VersionView:
    table = pa.table(
        {
            "path": pa.array([path for path, _, _ in files], pa.string()),
            "size": pa.array([size for _, size, _ in files], pa.int64()),
            "num_records": pa.array([1 for _ in files], pa.int64()),
            "partition_values": pa.array([list(values.items()) for _, _, values in files], VALUES),
        }
    )
    return version_view(4, columns, table)


def test_partitions_come_by_their_bytes_with_null_as_a_value_of_its_own() -> None:
    found = view(
        ("a", 10, {"date": "2024-01-01", "region": "eu"}),
        ("b", 15, {"date": "2024-01-01", "region": None}),
        ("c", 10, {"date": "2024-01-01", "region": "eu"}),
    )
    assert found.partitions() == {
        "count": 2,
        "heaviest": [
            {"values": ["2024-01-01", "eu"], "bytes": 20, "files": 2},
            {"values": ["2024-01-01", None], "bytes": 15, "files": 1},
        ],
    }


def test_files_come_by_their_paths_in_pages_and_of_one_partition_where_it_is_given() -> None:
    files = [(f"{number:03}", 1, {"date": "d", "region": "eu" if number % 2 else None}) for number in range(101)]
    found = view(*reversed(files))
    page = found.page(PAGE_FILES)
    assert (page["count"], page["files"][0]["path"], len(page["files"])) == (101, "050", PAGE_FILES)
    assert [file["path"] for file in found.page(100)["files"]] == ["100"]
    assert found.page(10**15)["files"] == []
    assert [file["path"] for file in found.page(0, ("d", None))["files"]][:2] == ["000", "002"]
    assert found.page(0, ("d", "eu"))["count"] == 50
    assert found.page(0, ("nowhere", "eu"))["count"] == 0


def test_a_table_without_partitions_has_none_and_its_files_all_the_same() -> None:
    found = view(("a", 10, {}), ("b", 5, {}), columns=())
    assert found.partitions() == {"count": 0, "heaviest": []}
    assert found.summary() == {"version": 4, "files": 2, "bytes": 15, "records": 2, "columns": []}
    assert found.page(0, ())["count"] == 2


def test_a_version_without_files_is_shown() -> None:
    found = view()
    assert found.summary()["bytes"] == 0
    assert found.partitions() == {"count": 0, "heaviest": []}
    assert found.page(0, ("d", "eu"))["files"] == []


def test_a_partition_column_may_have_the_name_of_a_files_own_column() -> None:
    found = view(("a", 10, {"path": "x", "size": "y"}), columns=("path", "size"))
    assert found.partitions()["heaviest"] == [{"values": ["x", "y"], "bytes": 10, "files": 1}]


def test_only_the_heaviest_partitions_are_listed_and_all_are_counted() -> None:
    found = view(
        *((str(number), number, {"date": str(number), "region": "eu"}) for number in range(MAX_PARTITIONS + 9))
    )
    partitions = found.partitions()
    assert (partitions["count"], len(partitions["heaviest"])) == (MAX_PARTITIONS + 9, MAX_PARTITIONS)
    assert partitions["heaviest"][0]["bytes"] == MAX_PARTITIONS + 8
