"""One real table in a folder of its own, reached directly or through a committer on a bus, and what is known of it."""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, assert_never

import structlog

import headgate
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, Rejected
from support.oracle.engines import lies_of_statistics, read_back
from support.oracle.failure import Disagreement
from support.oracle.model import DataFile, Expected, Model, counted
from support.oracle.values.cells import Cell

LOG = "_transaction_log"
NOT_DURABLE = {"local.durable": "false"}
RECEIPT_WITHIN_S = 60.0
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Done:
    version: int


@dataclass(frozen=True, slots=True)
class Again:
    """Told to be committed before."""

    version: int


@dataclass(frozen=True, slots=True)
class Refused:
    code: str
    """Of the receipt, or the name of the error."""
    reason: str


Outcome = Done | Again | Refused


@dataclass(slots=True)
class World:
    folder: Path
    model: Model
    table: headgate.Table
    producer: headgate.Producer | None = None
    bus: str | None = None
    misfits: float = 0.0
    """How likely a file is one that doesn't fit the table."""
    odd: set[str] = field(default_factory=set)
    """Files that were taken although something is odd about them."""
    log: list[str] = field(default_factory=list)
    """What was done, in words."""
    done: dict[str, int] = field(default_factory=dict)
    """How often what was tried."""
    unfollowed: bool = False
    """Whether a version was committed directly since the committer looked last."""
    known_partitions: dict[tuple[tuple[str, str | None], ...], str] = field(default_factory=dict)
    """By partition values as the log spells them, a file that was live there before maintenance began."""
    doubted: bool = False
    """Whether the log was cleaned below such a version, or a log with JSON checkpoints: what was decided is lost, so proposals may be
    told `expired`."""

    @property
    def uri(self) -> str:
        return str(self.folder / "table")

    @property
    def root(self) -> Path:
        return self.folder / "table"

    def near(self) -> Mapping[str, Sequence[Cell]]:
        """What cells and partition values there are, by column."""
        rows = self.model.rows(self.model.newest)
        near = {column.name: [row[column.name] for row in rows] for column in self.model.columns}
        for path in sorted(self.model.live):
            for name, value in self.model.files[path].partition.items():
                near[name].append(value)
        return near

    def tell(self, kind: str, text: str = "") -> None:
        self.count(kind)
        self.log.append(f"{kind} {text}"[:1500])

    def count(self, kind: str, by: int = 1) -> None:
        self.done[kind] = self.done.get(kind, 0) + by

    def is_coordinated(self, random: Random) -> bool:
        return self.producer is not None and random.random() < 0.7

    def propose(
        self, random: Random, name: str, *arguments: Any, terms: Mapping[str, Any] | None = None, **named: Any
    ) -> Outcome:
        """One operation by either way; `terms` go with proposals only, and so decide for them."""
        by_bus = bool(terms) or self.is_coordinated(random)
        self.count("through the bus" if by_bus else "direct")
        self.unfollowed = not by_bus
        if not by_bus:
            return outcome_of(lambda: getattr(self.table, name)(*arguments, **named))
        producer = self.producer
        assert producer is not None, "terms need a producer"
        extra: dict[str, Any] = dict(terms or {})
        if name == "alter":
            extra["based_on"] = headgate.Table.open(self.uri).version
        return outcome_of(lambda: getattr(producer, name)(*arguments, **named, **extra).wait(RECEIPT_WITHIN_S))

    def settle(self, expected: Expected, outcome: Outcome, *, lawful: frozenset[str] = frozenset()) -> bool:
        """Hold an outcome against what was expected; whether it was committed. `lawful` refusals may come besides."""
        self.log.append(f"  -> {outcome}"[:600])
        match outcome:
            case Done(version):
                if expected.must:
                    raise Disagreement(
                        "accepted", f"{self.log[-2]} was committed, and had to be refused: {sorted(expected.refusals)}"
                    )
                if version <= self.model.newest:
                    raise Disagreement("version", f"committed in version {version}, which was there already")
                self._upkeep_before(version)
                self.model.committed(version, expected)
                self.catch_up()
                return True
            case Again(version):
                raise Disagreement(
                    "duplicate", f"told to be in version {version} already, and was never proposed before"
                )
            case Refused(code, reason):
                if self.doubted and self.producer is not None:
                    lawful |= {"expired"}
                if code not in expected.refusals | lawful:
                    raise Disagreement("refused", f"{self.log[-2]} was refused as {code}: {reason}")
                self.count(f"refused: {code}")
                self.catch_up()
                return False
            case _:
                assert_never(outcome)

    def _upkeep_before(self, version: int) -> None:
        for earlier in range(self.model.newest + 1, version):
            self._adopt(headgate.Table.open(self.uri), earlier)

    def catch_up(self) -> None:
        """Learn of versions that maintenance made: their files may be others, their rows are the same."""
        table = headgate.Table.open(self.uri)
        newest = table.version
        if newest < self.model.newest:
            raise Disagreement(
                "version", f"the newest version is {newest}, and version {self.model.newest} was committed"
            )
        for version in range(self.model.newest + 1, newest + 1):
            self._adopt(table, version)

    def has_cleaned(self, *, log: bool) -> None:
        """Files that no version names may be gone now; with the log, also versions before the newest."""
        newest = headgate.Table.open(self.uri).version
        self.model.cleaned = True
        if log:
            self.model.floor = newest
            # JSON checkpoints hold no memory (docs/format.md, section 13).
            self.doubted |= self.unfollowed or any((self.root / LOG).glob("*.checkpoint.*json"))
        self.catch_up()

    def _adopt(self, table: headgate.Table, version: int) -> None:
        before = self.model.versions[self.model.newest]
        try:
            listed = table.snapshot(version=version).files(["path", "partition_values"]).to_pylist()
        except headgate.VersionNotRetained as error:
            if version >= self.model.floor:
                raise Disagreement("retained", f"version {version} is said to be gone: {error}") from error
            return  # made and cleaned up by maintenance
        stored = {row["path"]: dict(row["partition_values"] or ()) for row in listed}
        new = [path for path in stored if path not in self.model.files]
        if new:
            self._know(table, new, stored)
            for path in new:
                if lie := lies_of_statistics(self.root / path):
                    raise Disagreement("statistics", f"{path}, which a merge wrote: {lie}")
        held = self.model.rows(self.model.newest)
        self.model.upkeep(version, stored)
        if counted(held, before.columns) != counted(self.model.rows(version), before.columns):
            raise Disagreement(
                "upkeep",
                f"version {version} is maintenance and changes rows; before: {held}, after: {self.model.rows(version)}",
            )

    def _know(self, table: headgate.Table, paths: list[str], stored: Mapping[str, Mapping[str, str]]) -> None:
        """Files that the product wrote: of the partition of files that were live."""
        # Where the same maintenance cleaned it up, what was seen before it began will do.
        with suppress(headgate.VersionNotRetained):
            self.look_at_partitions(table, self.model.newest)
        for path in paths:
            twin = self.known_partitions.get(tuple(sorted(stored[path].items())))
            if twin is None:
                raise Disagreement(
                    "upkeep", f"{path} came with maintenance, in partition {stored[path]}, where there was no file"
                )
            cells, count = read_back(self.root / path)
            partition = self.model.files[twin].partition
            self.model.knows([DataFile(path, {n: c for n, c in cells.items() if n not in partition}, count, partition)])

    def look_at_partitions(self, table: headgate.Table, version: int | None = None) -> None:
        rows = table.snapshot(version=version).files(["path", "partition_values"]).to_pylist()
        self.known_partitions |= {
            tuple(sorted(dict(row["partition_values"] or ()).items())): row["path"] for row in rows
        }

    def age(self, days: float) -> None:
        """Make every file of the table look so old."""
        then = time.time() - days * _DAY_S
        for parent, _, names in os.walk(self.root):
            for name in names:
                os.utime(os.path.join(parent, name), (then, then))


@contextmanager
def quiet() -> Iterator[None]:
    """Log nothing of what goes well; afterwards, logs are as they were."""
    before = structlog.get_config() if structlog.is_configured() else None
    log = logging.getLogger("headgate")
    level, propagate, handlers = log.level, log.propagate, log.handlers[:]
    be_quiet()
    try:
        yield
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)
        log.setLevel(level)
        log.propagate, log.handlers[:] = propagate, handlers


def be_quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def outcome_of(ask: Callable[[], Receipt]) -> Outcome:
    """What became of a change, whether told by a receipt or by an error."""
    try:
        receipt = ask()
    except (InvalidInput, HeadgateError) as error:
        return Refused(type(error).__name__, str(error))
    match receipt:
        case Committed(version=version):
            return Done(version)
        case Duplicate(version=version):
            return Again(version)
        case Rejected(code=code, reason=reason):
            return Refused(code.value, reason)
        case _:
            assert_never(receipt)


@contextmanager
def new_world(
    random: Random, columns: Any, partition: Any, configuration: Mapping[str, str], *, coordinated: bool
) -> Iterator[World]:
    """A new table, in a folder that goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="headgate-oracle-"))
    ddl = ", ".join(column.ddl for column in columns)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        uri = str(folder / "table")
        producer, bus = None, None
        if coordinated:
            bus = f"sqlite:{folder / 'bus.db'}"
            stack.enter_context(headgate.committing(bus, NOT_DURABLE))
            producer = stack.enter_context(headgate.Producer(bus, uri, storage=NOT_DURABLE))
            receipt = producer.create(ddl, partition, configuration).wait(RECEIPT_WITHIN_S)
            assert isinstance(receipt, Committed), receipt
            table = headgate.Table.open(uri, NOT_DURABLE)
        else:
            table = headgate.Table.create(uri, ddl, partition, configuration, storage=NOT_DURABLE)
        model = Model(tuple(columns), tuple(partition))
        model.upkeep(table.version, ())
        world = World(folder, model, table, producer, bus)
        world.tell(
            "create", f"({ddl}) partitioned by {partition} with {dict(configuration)}{' on a bus' if bus else ''}"
        )
        yield world
