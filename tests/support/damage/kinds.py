"""Small tables of every kind that Headgate reads, as objects: our own of each setting, and those of other writers."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headgate_schemas.ambient import Ambient
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.repair import repair_into
from headgate_table.table import Table
from support.ambient import START_MS, FakeAmbient
from support.cleaning import World, one_thread
from support.damage.objects import Objects, objects_of
from support.logs.foreign_log import copy_to
from support.stores.memory import MemoryStore
from support.writers.rust import RustTable
from support.writers.scala import ScalaTable
from support.writers.scala_json import ScalaJsonTable

_DAYS = ("2024-01-01", "2024-01-02")


@dataclass(frozen=True, slots=True)
class Kind:
    """`is_ours`: every file of its log was written by this Headgate, with its checksums."""

    name: str
    is_ours: bool
    build: Callable[[], Objects]


def _history(world: World) -> None:
    """Adds in two partitions, a removal that leaves a tombstone, a changed setting, and a path that comes back."""
    first = world.append(date=_DAYS[0])
    world.append(date=_DAYS[1])
    second = world.append(date=_DAYS[0])
    world.accepted(world.table.delete(paths=[first.path]))
    world.clock.advance(hours=24)
    world.accepted(world.table.alter(configuration={"note": "kept"}))
    world.clock.advance(hours=24)
    world.append(date=_DAYS[1])
    world.accepted(world.table.delete(paths=[second.path]))
    world.clock.advance(hours=24)


def _ours(interval: int, **settings: str) -> Callable[[], Objects]:
    def build() -> Objects:
        world = World("date", interval=interval, store=None, **settings)
        _history(world)
        return objects_of(world.store, world.clock.time_ms)

    return build


def _compacted() -> Objects:
    world = World("date", interval=2, compaction__maxManifests="100")
    _history(world)
    world.accepted(world.table.compact())
    world.append(date=_DAYS[0])
    return objects_of(world.store, world.clock.time_ms)


def _repaired() -> Objects:
    """A log as `repair` leaves it, beside the files."""
    world = World("date", interval=2)
    _history(world)
    clock = FakeAmbient("repaired", world.clock.time_ms)
    target = MemoryStore(clock)
    repair_into(LogReader(world.store, one_thread()), world.store, target)
    whole = MemoryStore(clock)
    for info in target.list():
        whole.put(f"_transaction_log/{info.key}", target.get(info.key))
    for info in world.store.list():
        if not info.key.startswith("_"):
            whole.put(info.key, world.store.get(info.key))
    return objects_of(whole, clock.time_ms)


def _foreign(build: Callable[[Path], object]) -> Callable[[], Objects]:
    def objects() -> Objects:
        clock: Ambient = FakeAmbient("foreign", START_MS)
        store = MemoryStore(clock)
        with tempfile.TemporaryDirectory(prefix="headgate-damage-") as folder:
            build(Path(folder))
            copy_to(store, Path(folder))
        for row in Table(store, clock, one_thread()).snapshot().files(("path", "size")).to_pylist():
            store.put(row["path"], bytes(row["size"]))
        return objects_of(store, START_MS + 30 * 24 * 3_600_000)

    return objects


def _scala(root: Path) -> None:
    table = ScalaTable(root, partition_columns=("date",), sidecars=False)
    for number in range(6):
        table.append(2, date=_DAYS[number % 2])
    assert table.base is not None
    table.remove([table.base.live()[0]])


def _scala_plain(root: Path) -> None:
    table = ScalaTable(root, compressed=False, manifest_codec="null", sidecars=False)
    for _ in range(6):
        table.append(2)
    assert table.base is not None
    table.remove([table.base.live()[0]])
    table.checkpoint()


def _scala_json(*, compressed: bool, per_part: int = 100_000) -> Callable[[Path], object]:
    def build(root: Path) -> None:
        table = ScalaJsonTable(
            root, partition_columns=("date",), compressed=compressed, checkpoint_every=3, actions_per_part=per_part
        )
        files = [table.append(2, date=_DAYS[number % 2]) for number in range(4)]
        table.commit((), [files[0][0]])

    return build


def _rust(*, every: int) -> Callable[[Path], object]:
    def build(root: Path) -> None:
        table = RustTable(root, partition_columns=("date",), checkpoint_every=every)
        files = [table.append(2, date=_DAYS[number % 2]) for number in range(6)]
        table.commit((), [files[0][0]])

    return build


KINDS: tuple[Kind, ...] = (
    Kind("ours-versions", True, _ours(100)),
    Kind("ours-versions-plain", True, _ours(100, transaction__compression__enabled="false")),
    Kind("ours-states", True, _ours(3)),
    Kind("ours-states-plain", True, _ours(2, transaction__compression__enabled="false", state__compression="none")),
    Kind("ours-each-state", True, _ours(1)),
    Kind("ours-checkpoints", True, _ours(3, state__format="json")),
    Kind(
        "ours-checkpoints-plain",
        True,
        _ours(3, state__format="json", transaction__compression__enabled="false"),
    ),
    Kind("ours-parts", True, _ours(3, state__format="json", checkpoint__actionsPerPart="2")),
    Kind("ours-compacted", True, _compacted),
    Kind("ours-repaired", True, _repaired),
    Kind("scala", False, _foreign(_scala)),
    Kind("scala-plain", False, _foreign(_scala_plain)),
    Kind("scala-json", False, _foreign(_scala_json(compressed=True))),
    Kind("scala-json-plain", False, _foreign(_scala_json(compressed=False))),
    Kind("scala-parts", False, _foreign(_scala_json(compressed=True, per_part=4))),
    Kind("rust", False, _foreign(_rust(every=1))),
    Kind("rust-versions", False, _foreign(_rust(every=0))),
)


def kind_named(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


@cache
def objects_named(name: str) -> Objects:
    return kind_named(name).build()
