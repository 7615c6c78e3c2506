"""Make a table, put files into it, read it: `python examples/create_append_read.py [FOLDER]`."""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import headgate


def main(place: Path) -> None:
    table = headgate.Table.create(
        str(place),
        schema=pa.schema([("id", pa.int64()), ("amount", pa.float64()), ("region", pa.string())]),
        partition_by=["region"],
    )

    # Files are written first, by whatever writes Parquet; partition values are in their paths, not in the files.
    files = []
    for region, amounts in {"eu": [10.0, 20.0], "us": [5.0, 2.5, 1.0]}.items():
        path = f"region={region}/part-0.parquet"
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": range(len(amounts)), "amount": amounts}), place / path)
        files.append(headgate.DataFile.of_parquet(path, root=place))

    # One commit: readers see both files or none.
    match table.append(files):
        case headgate.Committed(version=version):
            print(f"committed as version {version}")
        case refused:
            sys.exit(f"not committed: {refused}")

    snapshot = table.snapshot(where="region = 'us'")
    print(f"{snapshot.num_files} file with {snapshot.num_records} rows matches: {snapshot.paths()[0]}")
    print("amount in the US:", sum(snapshot.scan(["amount"]).read_all().column("amount").to_pylist()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "sales")
