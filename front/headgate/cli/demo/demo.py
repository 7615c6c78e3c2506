"""`headgate demo`: the whole pipeline on this machine, with a crash in the middle, maintenance, and a check of the
result.
"""

import itertools
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from headgate.cli.terminal.output import Output
from headgate.cli.terminal.session import Session, command
from headgate_schemas.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.cli.demo.pipeline import Writers
    from headgate.cli.demo.processes import DemoProcess
    from headgate.cli.demo.upkeep import Holdings, RowCheck, Upkeep
    from headgate_schemas.actions.actions import AddFile
    from headgate_schemas.ambient import Ambient
    from headgate_table.table import Table

_SCHEMA = "id bigint, amount double, date date, region string"
_DAYS = ("2024-03-01", "2024-03-02", "2024-03-03")
_REGIONS = ("eu", "us")
_WRITERS = 4
_FILES_EACH = 50
_ROWS_A_FILE = 1_000
_CONFIGURATION = {"headgate.checkpoint.interval": "1"}
"""A state for each version, so that the demo needn't make more of them before there is something to compact."""
_CRASH_AT = 0.4
"""Of the proposals, this share is acknowledged when the committer is killed."""
_LOOK_S = 0.05
_NEVER = "the demo lost, doubled or damaged something; this should never happen, please report it"


def register(app: typer.Typer) -> None:
    command(
        app,
        "demo",
        demo,
        without=("format", "store", "settings", "settings_file"),
        short_help="See the whole pipeline run on this machine.",
    )


def demo(
    session: Session,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Write everything to this folder, and keep it.")
    ] = None,
) -> None:
    """Run a demo: writers propose, a committer is killed half way, workers merge and clean, and no row is lost or doubled."""
    with _folder(keep) as folder:
        _Demo(session, folder).run()
        if keep is not None:
            session.output.text(f"\nEverything stays in {folder}. Look at it with")
            session.output.text(f"  headgate table history {folder / 'sales'}")
            session.output.text(f"  headgate table files {folder / 'sales'} --where \"region = 'eu'\"")
        else:
            session.output.text("\nThe folder is gone again; `headgate demo --keep DIR` leaves it to you.")
        session.output.text(
            "Next: `headgate up` for a committer and a worker of your own, `headgate --help` for all there is."
        )


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="headgate-demo-") as folder:
        yield Path(folder).resolve()


class _Demo:
    def __init__(self, session: Session, folder: Path) -> None:
        self._output: Output = session.output
        self._ambient: Ambient = session.ambient
        self._session = session
        self._folder = folder
        self._uri = str(folder / "sales")
        self._bus = f"sqlite://{quote(str(folder / 'bus.db'))}"
        self._files = itertools.count(1)
        self._files_lock = threading.Lock()
        self._step = 0

    def run(self) -> None:
        from headgate.cli.demo.pipeline import Writers
        from headgate.cli.demo.processes import DemoProcess, running
        from headgate.cli.demo.upkeep import Upkeep, holdings
        from headgate_bus.open import open_bus
        from headgate_table.table import Table

        if (self._folder / "sales").exists() or (self._folder / "bus.db").exists():
            raise HeadgateError(f"{self._folder} holds a demo already: choose another folder, or delete that one")
        self._say(f"A bus in a file, and a committer process, in {self._folder}")
        bus = open_bus(self._bus, self._ambient)
        bus.prepare()
        bus.close()
        with running(DemoProcess(self._folder, self._bus, "committer", "committer")) as committer:
            self._create()
            writers = Writers(self._bus, self._uri, self._ambient, _WRITERS, _FILES_EACH, self._file)
            self._say(f"{_WRITERS} writers propose {writers.proposals} Parquet files at the same time.")
            self._write(writers, committer)
            table = Table.open(self._uri, ambient=self._ambient)
            self._count(table, writers)
            self._replay_and_refuse()
            upkeep = Upkeep(self._folder, self._bus, self._ambient, self._output)
            untended = holdings(table)
            self._merge(table, upkeep)
            self._correct()
            self._travel(table)
            self._clean(table, upkeep)
            self._compare(untended, holdings(table))
            if not table.verify().ok:
                raise HeadgateError(f"{_NEVER}: `headgate table verify {self._uri}` says what")
            self._output.text("   verify: everything is as it should be")

    def _create(self) -> None:
        from headgate_producer.producer import Producer
        from headgate_schemas.messages.operations import Committed

        with Producer(self._bus, self._uri, ambient=self._ambient) as producer:
            ticket = producer.create(_SCHEMA, ["date", "region"], _CONFIGURATION)
            receipt = ticket.wait(60)
        if not isinstance(receipt, Committed):
            raise HeadgateError(f"the demo's table was not created: {receipt}")
        self._output.text(f"   table sales, by date and region: version {receipt.version}")

    def _write(self, writers: "Writers", committer: "DemoProcess") -> None:
        began_s = self._ambient.monotonic_s()
        killed_at: int | None = None
        told = 0
        with self._session.output.counting("acknowledged", writers.proposals) as show:
            writers.start()
            while writers.are_writing:
                count = writers.tally.count
                show(count)
                if killed_at is None and count >= _CRASH_AT * writers.proposals:
                    killed_at = count
                    committer.kill()
                    self._output.text(
                        f"   {count:4} acknowledged; the committer is killed here, in the middle of its work"
                    )
                    committer.start()
                elif count - told >= writers.proposals // 4:
                    told = count
                    self._output.text(f"   {count:4} acknowledged")
                committer.check()
                self._ambient.sleep(_LOOK_S)
            show(writers.tally.count)
        if writers.tally.failures:
            raise HeadgateError(f"the demo's writers had no answer: {writers.tally.failures[0]}")
        took_s = self._ambient.monotonic_s() - began_s
        self._output.text(
            f"   {writers.tally.count:4} acknowledged, in {took_s:.1f} s, the crash and the new committer included"
        )

    def _count(self, table: "Table", writers: "Writers") -> None:
        snapshot = table.snapshot()
        paths = snapshot.paths()
        acknowledged = writers.tally.acknowledged
        rows = sum(batch.num_rows for batch in snapshot.scan(["id"]))
        self._say("What came of it, newest versions first. Many proposals share a version.")
        history = table.history()
        self._output.rows(
            [
                {
                    "version": entry.version,
                    "time": entry.time,
                    "operation": entry.operation,
                    "adds": entry.adds,
                    "proposals": len(entry.proposals),
                }
                for entry in history[:6]
            ],
            ("version", "time", "operation", "adds", "proposals"),
        )
        lost, doubled = acknowledged - set(paths), len(paths) - len(set(paths))
        numbers = sorted(entry.version for entry in history)
        self._output.text(
            f"   {writers.proposals} proposals in {len(history) - 1} versions, {len(set(paths))} files, {rows:,} rows"
        )
        self._output.text(
            f"   lost: {len(lost)}   doubled: {doubled}   gaps: {len(numbers) - numbers[-1] - 1 + numbers[0]}"
        )
        if lost or doubled or rows != writers.proposals * _ROWS_A_FILE or numbers != list(range(len(numbers))):
            raise HeadgateError(_NEVER)

    def _replay_and_refuse(self) -> None:
        from headgate_producer.producer import Producer
        from headgate_schemas.messages.operations import Rejected, Writer

        self._say(
            "A writer that forgot how far it was sends its last file once more; another deletes what isn't there."
        )
        with Producer(self._bus, self._uri, ambient=self._ambient) as producer:
            again = producer.append([self._file(0)], writer=Writer("writer-0", 0)).wait(60)
            self._output.text(
                f"   again: {type(again).__name__.lower()}, it is in version {getattr(again, 'version', None)}"
            )
            refused = producer.delete(paths=["date=2024-03-01/region=eu/missing.parquet"]).wait(60)
            said = f"{refused.code.value}: {refused.reason}" if isinstance(refused, Rejected) else str(refused)
            self._output.text(f"   delete: rejected, {said}")

    def _merge(self, table: "Table", upkeep: "Upkeep") -> None:
        self._say("A worker follows the commits. It merges the small files of each partition, then compacts the state.")
        rows = self._row_check(table)
        upkeep.merge_and_compact(table, len(_DAYS) * len(_REGIONS))
        self._check_rows(table, rows)

    def _correct(self) -> None:
        from headgate_producer.producer import Producer
        from headgate_schemas.messages.operations import Committed

        self._say(f"{_DAYS[0]} is written anew: all its files out, one in, in one version.")
        with Producer(self._bus, self._uri, ambient=self._ambient) as producer:
            over = producer.overwrite([self._file(0, _DAYS[0], "eu", "corrected")], f"date = '{_DAYS[0]}'").wait(60)
        if not isinstance(over, Committed):
            raise HeadgateError(f"the demo's correction was not committed: {over}")
        self._output.text(f"   committed as version {over.version}")

    def _travel(self, table: "Table") -> None:
        now = table.snapshot()
        self._say("Time travel: the day before and after its correction.")
        for snapshot in (table.snapshot(version=now.version - 1), now):
            rows = sum(batch.num_rows for batch in snapshot.scan(["id"], f"date = '{_DAYS[0]}'"))
            self._output.text(f"   version {snapshot.version}: {snapshot.num_files} files, {rows:,} rows of {_DAYS[0]}")

    def _clean(self, table: "Table", upkeep: "Upkeep") -> None:
        self._say(
            "The past is given up, and another worker deletes what no kept version names. In earnest it waits for days."
        )
        rows = self._row_check(table)
        forgotten = table.truncate_history()
        self._output.text(f"   truncate-history: {forgotten.message}")
        upkeep.clean()
        self._check_rows(table, rows)

    def _compare(self, before: "Holdings", after: "Holdings") -> None:
        self._say("What the workers made of it.")
        names = ("live_files", "stored_files", "tombstones", "log_objects")
        self._output.rows(
            [
                {"what": name.replace("_", " "), "before": getattr(before, name), "after": getattr(after, name)}
                for name in names
            ],
            ("what", "before", "after"),
        )

    def _row_check(self, table: "Table") -> "RowCheck":
        from headgate.cli.demo.upkeep import RowCheck

        return RowCheck(table)

    def _check_rows(self, table: "Table", rows: "RowCheck") -> None:
        lost, doubled = rows.compare(table)
        self._output.text(f"   rows lost: {lost}   rows doubled: {doubled}")
        if lost or doubled:
            raise HeadgateError(_NEVER)

    def _say(self, text: str) -> None:
        self._step += 1
        self._output.text(f"\n{self._step}. {text}" if self._step > 1 else f"{self._step}. {text}")

    def _file(self, writer: int, day: str | None = None, region: str | None = None, kind: str = "sales") -> "AddFile":
        """A data file that is written beside the table's log and isn't part of the table yet."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from headgate_table.data_file import DataFile

        with self._files_lock:
            number = next(self._files)
        day, region = day or _DAYS[number % len(_DAYS)], region or _REGIONS[number % len(_REGIONS)]
        path = f"date={day}/region={region}/{kind}-{writer}-{number}.parquet"
        target = Path(self._uri) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        ids = range(number * _ROWS_A_FILE, (number + 1) * _ROWS_A_FILE)
        pq.write_table(pa.table({"id": ids, "amount": [round(0.25 * (row % 400), 2) for row in ids]}), target)
        return DataFile.of_parquet(path, root=self._uri, partition_values={"date": day, "region": region})
