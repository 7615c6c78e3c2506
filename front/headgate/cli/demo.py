"""`headgate demo`: a table's life in a temporary folder, each step explained in a line, with real Parquet files."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from headgate.cli.output import Output
from headgate.cli.session import Session, command
from headgate_schemas.errors import HeadgateError

if TYPE_CHECKING:
    from headgate_schemas.actions import AddFile
    from headgate_schemas.ambient import Ambient
    from headgate_schemas.operations import Receipt

_SCHEMA = "id bigint, amount double, date date, region string"
_DAYS = ("2024-03-01", "2024-03-02", "2024-03-03")
_REGIONS = ("eu", "us")
_ROWS_A_FILE = 1000


def register(app: typer.Typer) -> None:
    command(app, "demo", demo, without=("format", "store", "settings", "settings_file"))


def demo(
    session: Session,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Make the table here, and leave it there.")
    ] = None,
) -> None:
    """Make a table, commit to it, look at it, travel back in it."""
    with _folder(keep) as folder:
        _Demo(session.output, session.ambient, str(folder / "sales")).run()
        if keep is not None:
            session.output.text(f"The table stays at {folder / 'sales'}. Look at it with")
            session.output.text(f"  headgate table files {folder / 'sales'} --where \"region = 'eu'\"")
            session.output.text(f"  headgate sql \"DESCRIBE HEADGATE STATE '{folder / 'sales'}'\"")
        else:
            session.output.text("The folder is gone again; `headgate demo --keep DIR` leaves it to you.")
        session.output.text("Next: `headgate table --help` for all there is, `headgate doctor` for a check.")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="headgate-demo-") as folder:
        yield Path(folder)


class _Demo:
    def __init__(self, output: Output, ambient: "Ambient", uri: str) -> None:
        self._output = output
        self._ambient = ambient
        self._uri = uri
        self._step = 0
        self._files = 0

    def run(self) -> None:
        from headgate_table.table import Table

        self._say(f"A new table of sales, partitioned by date and region, at {self._uri}")
        table = Table.create(
            self._uri, _SCHEMA, ["date", "region"], {"indextables.checkpoint.interval": "2"}, ambient=self._ambient
        )

        self._say("Three days of sales: two Parquet files a day, committed together.")
        for day in _DAYS:
            self._show(table.append([self._file(day, region) for region in _REGIONS]))

        self._say("The live files of one region; only what may match is read.")
        files = table.snapshot(where="region = 'eu'").files(("path", "size", "num_records"))
        self._output.rows(files.sort_by("path"), files.column_names)

        self._say(f"{_DAYS[0]} again, corrected: old files out, new ones in, in one version.")
        self._show(
            table.overwrite([self._file(_DAYS[0], region, "corrected") for region in _REGIONS], f"date = '{_DAYS[0]}'")
        )

        self._say(f"{_DAYS[1]} is deleted, without opening a data file.")
        self._show(table.delete(f"date = '{_DAYS[1]}'"))

        self._say("Every version, newest first.")
        self._output.rows(table.history(), ("version", "time", "operation", "adds", "removes"))

        tombstones = table.describe().num_tombstones
        self._say(f"Compaction: {tombstones} tombstones go, manifests are sorted by partition.")
        self._show(table.compact())
        self._output.one({name: value for name, value in table.describe().items() if name != "table_path"})

        self._say("The rows, read through the table; and as they were at version 3.")
        for version in (None, len(_DAYS)):
            snapshot = table.snapshot(version)
            rows = snapshot.scan(["date", "amount"]).read_all()
            self._output.text(
                f"   version {snapshot.version}: {snapshot.num_files} files, {rows.num_rows:,} rows, "
                f"days {', '.join(sorted({str(day) for day in rows.column('date').unique().to_pylist()}))}"
            )
        self._output.text("")

    def _say(self, text: str) -> None:
        self._step += 1
        self._output.text(f"\n{self._step}. {text}" if self._step > 1 else f"{self._step}. {text}")

    def _show(self, receipt: "Receipt") -> None:
        from headgate_schemas.operations import Committed, Duplicate, Rejected

        match receipt:
            case Committed(version) | Duplicate(version):
                self._output.text(f"   committed as version {version}")
            case Rejected(reason=reason):
                raise HeadgateError(f"the demo's own commit was refused: {reason}")
            case _:
                assert_never(receipt)

    def _file(self, day: str, region: str, kind: str = "sales") -> "AddFile":
        """A data file, written beside the table's log and not yet part of the table."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from headgate_table.data_file import DataFile

        self._files += 1
        path = f"date={day}/region={region}/{kind}-{self._files}.parquet"
        target = Path(self._uri) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        ids = range(_ROWS_A_FILE)
        pq.write_table(pa.table({"id": ids, "amount": [round(0.25 * (number % 400), 2) for number in ids]}), target)
        return DataFile.of_parquet(path, root=self._uri, partition_values={"date": day, "region": region})
