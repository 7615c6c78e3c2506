"""The watch over cleaners: it tells of a file that is gone while something retained names it, and of one that nothing names."""

from pathlib import Path

from headgate_table.table import Table
from support.torture.judge.keeping import Keeping
from support.torture.stage.ageing import Ageing
from support.torture.stage.stage import a_file


def table_of_two_files(folder: Path) -> Table:
    """The first is in a state and in its version, the second in its version only."""
    table = Table.create(str(folder), "id BIGINT, part STRING", ["part"])
    for name in ("first", "second"):
        file = a_file(name)
        (folder / file.path).parent.mkdir(exist_ok=True)
        (folder / file.path).write_bytes(b"rows")
        table.append([file])
        if name == "first":
            table.checkpoint()
    return table


def lost_without(folder: Path, name: str) -> list[str]:
    keeping = Keeping(folder)
    keeping.look()
    assert keeping.lost == []
    (folder / name).unlink()
    keeping.look()
    return keeping.lost


def test_a_file_that_only_a_version_names_is_missed(tmp_path: Path) -> None:
    table_of_two_files(tmp_path)
    assert lost_without(tmp_path, "part=a/second.parquet") == [
        "_transaction_log/00000000000000000002.json names part=a/second.parquet, which is gone"
    ]


def test_a_file_that_only_a_state_names_is_missed(tmp_path: Path) -> None:
    table_of_two_files(tmp_path)
    (tmp_path / "_transaction_log/00000000000000000001.json").unlink()
    assert lost_without(tmp_path, "part=a/first.parquet") == [
        "_transaction_log/state-v00000000000000000001/_manifest.avro names part=a/first.parquet, which is gone"
    ]


def test_a_file_whose_versions_are_cleaned_first_is_not_missed(tmp_path: Path) -> None:
    table_of_two_files(tmp_path)
    keeping = Keeping(tmp_path)
    keeping.look()
    (tmp_path / "_transaction_log/00000000000000000002.json").unlink()
    (tmp_path / "part=a/second.parquet").unlink()
    keeping.look()
    assert keeping.lost == []


def test_a_file_that_was_removed_stays_told_of_until_its_versions_are_gone(tmp_path: Path) -> None:
    table_of_two_files(tmp_path).delete(paths=["part=a/second.parquet"])
    (tmp_path / "part=a/never-named.parquet").write_bytes(b"rows")
    keeping = Keeping(tmp_path)
    keeping.look()
    assert keeping.unnamed() == {"part=a/never-named.parquet"}


def test_files_age_by_an_hour_once_and_only_those_that_may(tmp_path: Path) -> None:
    table_of_two_files(tmp_path)
    first, second = (tmp_path / f"part=a/{name}.parquet" for name in ("first", "second"))
    before = first.stat().st_mtime, second.stat().st_mtime
    ageing = Ageing(tmp_path, 0.0)
    for _ in range(2):
        ageing.let_time_pass(lambda name: name == "second.parquet")
    assert (first.stat().st_mtime, second.stat().st_mtime) == (before[0] - 3600, before[1])
