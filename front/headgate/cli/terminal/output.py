"""Prints data: aligned tables for people, JSON and CSV for programs. Data goes to standard output, notes to standard
error.

JSON output is always one document: an object, or a list of objects. Lists are written as their items come.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from headgate.cli.terminal.cells import is_number, shown_cell

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

MAX_TABLE_ROWS = 1000
"""More rows than anybody reads; programs ask for csv or json, which have no end."""

_BATCH_ROWS = 4096
_GAP = 2
_LEAST_TEXT_WIDTH = 12
_UNBOUNDED_WIDTH = 100_000
"""Where no terminal is, nothing is wrapped or cut."""


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class Output:
    """The output of one command."""

    def __init__(self, data: TextIO, notes: TextIO, form: Format) -> None:
        self._data = data
        self._notes = notes
        self.form = form

    @property
    def data(self) -> TextIO:
        """The stream for data."""
        return self._data

    @property
    def is_for_people(self) -> bool:
        return self.form is Format.TABLE

    def rows(
        self,
        rows: "pa.Table | Iterable[Any]",
        columns: Sequence[str],
        *,
        shown: Sequence[str] | None = None,
        spare: Sequence[str] = (),
        nothing: str = "Nothing.",
    ) -> None:
        """A list: an Arrow table, mappings, or dataclasses.

        Tables for people have the columns `shown`; on a narrow terminal, columns of `spare` are left out, the first one
        first. Other formats have all `columns`.
        """
        items = _items(rows)
        match self.form:
            case Format.JSON:
                self._json_list(items, columns)
            case Format.CSV:
                self._csv(items, columns)
            case Format.TABLE:
                self._table(items, shown or columns, spare, nothing)

    def follow(
        self, rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, shown: Sequence[str] | None = None
    ) -> None:
        """A list that may be endless: each row at once on a line of its own; in JSON, one object per line."""
        match self.form:
            case Format.JSON:
                for row in rows:
                    self.text(_json({name: row.get(name) for name in columns}))
            case Format.CSV:
                self._csv(iter(()), columns)
                for row in rows:
                    csv.writer(self._data, lineterminator="\n").writerow([_csv_cell(row.get(name)) for name in columns])
                    self._data.flush()
            case Format.TABLE:
                for row in rows:
                    said = {name: shown_cell(name, row.get(name)) for name in shown or columns}
                    self.text("  ".join(f"{name}={text}" for name, text in said.items() if text != "-"))

    def one(self, values: Mapping[str, Any]) -> None:
        """A single object."""
        match self.form:
            case Format.JSON:
                self._data.write(_json(values, indent=2) + "\n")
            case Format.CSV:
                self._csv(iter([values]), list(values))
            case Format.TABLE:
                self._record(values)
        self._data.flush()

    def document(self, values: Mapping[str, Any]) -> None:
        """A nested object, which is JSON for people as well."""
        self._data.write(_json(values, indent=2) + "\n")
        self._data.flush()

    def text(self, line: str) -> None:
        """A line of text that is the result itself."""
        self._data.write(line + "\n")
        self._data.flush()

    def note(self, text: str) -> None:
        """A line for people, only beside tables."""
        if self.form is Format.TABLE:
            self._data.flush()
            self._notes.write(text + "\n")
            self._notes.flush()

    @contextmanager
    def counting(self, what: str, total: int) -> "Iterator[Callable[[int], None]]":
        """A progress bar on a terminal; call the yielded function with the count so far. Elsewhere nothing."""
        if not self._data.isatty():
            yield lambda count: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("   {task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=Console(file=self._data), transient=True, redirect_stdout=True) as progress:
            task = progress.add_task(what, total=total)
            yield lambda count: progress.update(task, completed=count)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Shows on a terminal that something takes its time."""
        if self._notes.isatty():
            from rich.console import Console

            with Console(file=self._notes).status(what):
                yield
        else:
            yield

    def abandon(self) -> None:
        """Nobody reads standard output any more: discard the buffered rest."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._data.fileno())

    def _json_list(self, items: Iterator[Mapping[str, Any]], columns: Sequence[str]) -> None:
        separator = "["
        for item in items:
            self._data.write(f"{separator}\n  {_json({name: item.get(name) for name in columns})}")
            separator = ","
        self._data.write("[]\n" if separator == "[" else "\n]\n")
        self._data.flush()

    def _csv(self, items: Iterator[Mapping[str, Any]], columns: Sequence[str]) -> None:
        writer = csv.writer(self._data, lineterminator="\n")
        writer.writerow(columns)
        for item in items:
            writer.writerow([_csv_cell(item.get(name)) for name in columns])
        self._data.flush()

    def _table(
        self, items: Iterator[Mapping[str, Any]], columns: Sequence[str], spare: Sequence[str], nothing: str
    ) -> None:
        from rich.table import Table
        from rich.text import Text

        listed = list(islice(items, MAX_TABLE_ROWS))
        if not listed:
            self.note(nothing)
            return
        numeric = {name for name in columns if all(is_number(row.get(name)) for row in listed)}
        cells = {name: [shown_cell(name, row.get(name)) for row in listed] for name in columns}
        console = self._console()
        fitting = _fitting(cells, spare, console.width)
        # Half a number is a wrong number: if numbers don't fit, the terminal itself wraps the lines.
        console.width = max(console.width, sum(_least_width(name, cells[name], name in numeric) for name in fitting))
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for name in fitting:
            table.add_column(
                Text(name),
                justify="right" if name in numeric else "left",
                overflow="fold",
                no_wrap=name in numeric,
            )
        for row in zip(*(cells[name] for name in fitting), strict=True):
            table.add_row(*map(Text, row))
        self._print(console, table)
        left_out = [name for name in columns if name not in fitting]
        if left_out:
            self.note(f"No room for {', '.join(left_out)}.")
        if next(items, None) is not None:
            self.note(f"These are the first {MAX_TABLE_ROWS:,} rows; --format csv or json prints all of them.")

    def _record(self, values: Mapping[str, Any]) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in _unfolded(values):
            table.add_row(Text(name), Text(shown_cell(name.rpartition(".")[2], value, whole=True)))
        self._print(self._console(), table)

    def _print(self, console: "Console", table: Any) -> None:
        with console.capture() as captured:
            console.print(table)
        # Padding at the ends of lines has no effect on a terminal and is in the way in a file.
        lines = captured.get().splitlines()
        self._data.write("".join(f"{line.rstrip()}\n" for line in lines))
        self._data.flush()

    def _console(self) -> "Console":
        from rich.console import Console

        if self._data.isatty():
            return Console(file=self._data, highlight=False)
        return Console(file=self._data, width=_UNBOUNDED_WIDTH, highlight=False, no_color=True, force_terminal=False)


def _least_width(name: str, texts: Sequence[str], is_whole: bool) -> int:
    """The least width of a column; texts may be wrapped."""
    from rich.cells import cell_len

    widest = max(map(cell_len, (name, *texts)))
    return _GAP + (widest if is_whole else min(widest, _LEAST_TEXT_WIDTH))


def _fitting(cells: Mapping[str, Sequence[str]], spare: Sequence[str], width: int) -> list[str]:
    """The columns without as many of the spare ones as necessary to fit the width."""
    from rich.cells import cell_len

    widths = {name: max(map(cell_len, (name, *texts))) + _GAP for name, texts in cells.items()}
    for name in spare:
        if sum(widths.values()) <= width:
            break
        widths.pop(name, None)
    return list(widths)


def _items(rows: "pa.Table | Iterable[Any]") -> Iterator[Mapping[str, Any]]:
    """Rows of an Arrow table, mappings unchanged, or the fields of dataclasses."""
    batches = getattr(rows, "to_batches", None)
    if batches is None:
        yield from (row if isinstance(row, Mapping) else asdict(row) for row in rows)
        return
    for batch in batches(max_chunksize=_BATCH_ROWS):
        yield from batch.to_pylist(maps_as_pydicts="lossy")


def _unfolded(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The structs of a result, one line for each of their fields."""
    for name, value in values.items():
        if name == "metrics" and isinstance(value, Mapping):
            yield from ((f"{name}.{field}", inner) for field, inner in value.items())
        else:
            yield name, value


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return iso(value)
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case Mapping():
            return dict(value)
        case tuple() | set() | frozenset():
            return list(value)
        case _:
            raise TypeError(f"a {type(value).__name__} can't be printed as JSON")


def _csv_cell(value: Any) -> Any:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return value
        case datetime():
            return iso(value)
        case date() | Decimal():
            return str(value)
        case _:
            return _json(value)


def iso(moment: datetime) -> str:
    """UTC, to the millisecond."""
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
