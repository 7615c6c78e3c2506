"""What a writer of rows does at each of its steps: small Parquet files whose rows are all different, and known beforehand."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from headgate_schemas.messages.operations import Append, Overwrite, Writer
from headgate_table.data_file import DataFile
from headgate_table.errors import StoreError
from headgate_table.store.interface import Store
from support.torture.workload import Planned

COLUMNS = "id BIGINT, text STRING, part STRING"
SHARED_PARTS = ("a", "b", "c")
"""Every writer appends to each of them."""
OWN_PART = "o"
"""The overwriter's alone."""
OVERWRITER = "overwriter-0"
ROWS = 10
"""In a file."""
OVERWRITTEN_FILES = 6
"""Enough that merging them is worth it, before they are overwritten again."""
FILES_A_STEP = 10
STEPS = 1_000_000
PROVIDE_WITHIN_S = 60.0
_MODIFIED_MS = 1_700_000_000_000
"""The same at every repetition."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    path: str
    part: str
    first_id: int

    @property
    def ids(self) -> range:
        return range(self.first_id, self.first_id + ROWS)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    files: tuple[PlannedFile, ...]
    overwrites: bool
    has_seq: bool = False


def planned_step(seed: int, name: str, step: int) -> PlannedStep:
    draw = Random(f"{seed}/{name}/{step}/rows")
    if name == OVERWRITER:
        return PlannedStep(_files(name, step, OWN_PART, OVERWRITTEN_FILES), overwrites=True)
    files = _files(name, step, draw.choice(SHARED_PARTS), draw.randint(1, 2))
    return PlannedStep(files, overwrites=False, has_seq=draw.random() < 0.3)


def text_of(number: int) -> str:
    """What stands beside an id, so that rows which were mixed up show."""
    return f"row {number * 7919 % 1_000_003}"


def _files(name: str, step: int, part: str, count: int) -> tuple[PlannedFile, ...]:
    kind, _, number = name.partition("-")
    writer = int(number) if kind == "writer" else FILES_A_STEP - 1
    base = (writer * STEPS + step) * FILES_A_STEP * ROWS
    return tuple(
        PlannedFile(f"part={part}/{name}-{step}-{each}.parquet", part, base + each * ROWS) for each in range(count)
    )


class Rows:
    """One writer's work, on the store of its table."""

    def __init__(self, seed: int, name: str, store: Store) -> None:
        self._seed = seed
        self._name = name
        self._store = store

    def planned(self, step: int) -> Planned:
        plan = planned_step(self._seed, self._name, step)
        files = _described(plan.files)
        if plan.overwrites:
            return Planned(Overwrite(files, f"part = '{OWN_PART}'"))
        return Planned(Append(files), Writer(self._name, step) if plan.has_seq else None)

    def provide(self, step: int) -> None:
        """Put the files, and go on trying while the store is away. Raises `StoreError` in the end."""
        deadline_s = time.monotonic() + PROVIDE_WITHIN_S
        for file in planned_step(self._seed, self._name, step).files:
            while True:
                try:
                    self._store.put(file.path, contents(file))
                except StoreError:
                    if time.monotonic() > deadline_s:
                        raise
                else:
                    break


def contents(file: PlannedFile) -> bytes:
    """Always the same bytes."""
    sink = pa.BufferOutputStream()
    table = pa.table(
        {"id": pa.array(file.ids, pa.int64()), "text": pa.array([text_of(each) for each in file.ids], pa.string())}
    )
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def _described(files: Sequence[PlannedFile]) -> tuple[DataFile, ...]:
    """As a job describes files that it wrote; read from copies of them, since these may be merged and gone by now."""
    with TemporaryDirectory(prefix="headgate-rows-") as folder:
        for file in files:
            copy = Path(folder, file.path)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(contents(file))
        return tuple(DataFile.of_parquet(file.path, root=folder, modification_time=_MODIFIED_MS) for file in files)
