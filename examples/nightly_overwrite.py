"""A nightly job that replaces one day, and a look back: `python examples/nightly_overwrite.py [FOLDER]`."""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import headgate


def written(place: Path, day: str, run: int, amounts: list[float]) -> headgate.DataFile:
    """A data file of one day. Every run writes files of its own: what is in a table is never changed."""
    path = f"day={day}/run-{run}.parquet"
    (place / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"amount": amounts}), place / path)
    return headgate.DataFile.of_parquet(path, root=place)


def total(snapshot: headgate.Snapshot) -> float:
    return float(sum(snapshot.scan(["amount"]).read_all().column("amount").to_pylist()))


def version_of(receipt: headgate.Receipt) -> int:
    match receipt:
        case headgate.Committed(version=version) | headgate.Duplicate(version=version):
            return version
        case headgate.Rejected(reason=reason):
            sys.exit(f"not committed: {reason}")


def main(place: Path) -> None:
    table = headgate.Table.create(str(place), schema="amount double, day string", partition_by=["day"])
    table.append([written(place, "2024-03-01", 1, [10.0, 20.0]), written(place, "2024-03-02", 1, [5.0])])
    before = table.version

    # Whatever is live of that day when this is committed goes, and the new file comes, in one version.
    corrected = written(place, "2024-03-01", 2, [10.0, 25.0, 1.0])
    after = version_of(table.overwrite([corrected], where="day = '2024-03-01'"))

    print(f"version {before}: {total(table.snapshot(version=before))}")
    print(f"version {after}: {total(table.snapshot())}")
    changes = table.changes(since=before)
    print("came:", changes.added.column("path").to_pylist(), "went:", changes.removed.column("path").to_pylist())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "sales")
