"""The steps of a history that change no row: compaction, merging, cleaning, workers; and repairs, of copies of the table."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import headgate
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import HeadgateError
from headgate_table.store.settings import StoreSettings
from headgate_worker.limits import RoleTerms, WorkerLimits
from headgate_worker.serving import ROLES, serving
from support.oracle.failure import Disagreement
from support.oracle.judge import rows_of, same_rows
from support.oracle.values.conditions import draw_condition
from support.oracle.world import LOG, NOT_DURABLE, World

ROUNDS = 40
"""Of a worker: more than it needs for one small table."""
ROUND_S = 0.02


def compact(random: Random, world: World, name: str) -> None:
    full = random.random() < 0.6
    world.tell("compact", "fully" if full else "")
    if random.random() < 0.3:
        _run_sql(random, world, f"COMPACT HEADGATE '{world.uri}'")
    else:
        world.table.compact(full=full)
    world.catch_up()


def checkpoint(random: Random, world: World, name: str) -> None:
    world.tell("checkpoint")
    world.table.checkpoint()
    world.catch_up()


def merge(random: Random, world: World, name: str) -> None:
    condition = ""
    if world.model.partition and random.random() < 0.3:
        condition = f" WHERE {draw_condition(random, world.model.partition_columns, world.near()).text}"
    text = f"MERGE SPLITS '{world.uri}'{condition} TARGET SIZE {random.choice(('1M', '100M'))}"
    world.tell("merge", text)
    _run_sql(random, world, text)
    world.catch_up()


def purge(random: Random, world: World, name: str) -> None:
    keep = random.random() < 0.5
    world.tell("purge", "keeps the log" if keep else "")
    world.age(random.choice((40, 400)))
    world.table.purge(24, 24 * 10_000 if keep else 24)
    # Without the first versions, what is left of them leans on old states, which expire by themselves.
    world.has_cleaned(log=not keep or world.model.floor > 0)


def truncate(random: Random, world: World, name: str) -> None:
    world.tell("truncate history")
    foreseen = world.table.truncate_history(dry_run=True)
    done = world.table.truncate_history()
    if {each.key for each in foreseen.deletions} != {each.key for each in done.deletions}:
        raise Disagreement("dry run", f"a dry run would delete {foreseen.deletions}, the run {done.deletions}")
    world.has_cleaned(log=True)


def work(random: Random, world: World, name: str) -> None:
    """A worker of some roles, on the bus or, without one, for a table that it is told to watch."""
    roles = random.choice((("merge",), ("compact",), ("clean",), tuple(ROLES)))
    world.tell("worker", ", ".join(roles))
    if "clean" in roles:
        world.age(40)
    world.look_at_partitions(world.table)
    terms = dict.fromkeys(roles, RoleTerms(cooldown_ms=0))
    limits = WorkerLimits(terms=terms, receipt_s=30.0)
    overrides = {"merge.minSources": "2"}
    with closing(open_bus(world.bus or f"sqlite:{world.folder / 'worker.db'}", SystemAmbient())) as bus:
        # Without a committer on this bus, what a worker proposes is never decided: it may look, and clean nothing.
        if world.bus is None:
            roles = ()
        if roles:
            settings = StoreSettings.from_mapping(NOT_DURABLE)
            ambient = SystemAmbient()
            with serving(
                bus, settings, ambient, limits, roles=roles, watched=[world.uri], overrides=overrides
            ) as worker:
                for _ in range(ROUNDS):
                    worker.step(ROUND_S)
    if "clean" in roles:
        world.has_cleaned(log=True)
    world.catch_up()


def repair(random: Random, world: World, name: str) -> None:
    """A log written anew from what the log says: the newest rows, and no others."""
    with_copy(world, name, lambda root: _repair(world, root))


def _repair(world: World, root: Path) -> None:
    world.tell("repair")
    mended = root.parent / "mended" / LOG
    try:
        result = headgate.repair_log(str(root / LOG), str(mended), NOT_DURABLE)
    except HeadgateError as error:
        raise Disagreement("repair", f"{type(error).__name__}: {error}") from error
    if result.status != "SUCCESS":
        raise Disagreement("repair", f"of a sound table: {result}")
    _take(root, mended)
    _expect_newest(world, root, "repaired")


def rebuild(random: Random, world: World, name: str) -> None:
    """A log of the files alone: the newest rows, where no other files are there and folders tell the partitions."""
    names = len(world.model.partition)
    in_folders = all(path.count("=") >= names and path.split("/")[0].count("=") for path in world.model.live)
    if not world.model.live or world.odd & world.model.live or (names and not in_folders):
        return repair(random, world, name)
    return with_copy(world, name, lambda root: _rebuild(world, root))


def _rebuild(world: World, root: Path) -> None:
    world.tell("rebuild")
    shutil.rmtree(root / LOG)
    for path in root.rglob("*.parquet"):
        if str(path.relative_to(root)) not in world.model.live:
            path.unlink()
    ddl = ", ".join(column.ddl for column in world.model.columns)
    try:
        headgate.rebuild_log(str(root / LOG), storage=NOT_DURABLE, schema=ddl, partition_by=list(world.model.partition))
    except HeadgateError as error:
        raise Disagreement("rebuild", f"{type(error).__name__}: {error}") from error
    _expect_newest(world, root, "rebuilt")


def with_copy(world: World, name: str, what: Callable[[Path], None]) -> None:
    root = world.folder / f"copy-{name}" / "table"
    shutil.copytree(world.root, root)
    try:
        what(root)
    finally:
        shutil.rmtree(root.parent)


def _take(root: Path, mended: Path) -> None:
    shutil.rmtree(root / LOG)
    shutil.move(mended, root / LOG)


def _expect_newest(world: World, root: Path, how: str) -> None:
    model = world.model
    try:
        table = headgate.Table.open(str(root))
        found = rows_of(table.snapshot().scan().read_all())
    except HeadgateError as error:
        raise Disagreement("damage", f"{how}: {error}") from error
    same_rows(how, found, model.rows(model.newest), model.columns)
    report = table.verify()
    if report.errors:
        raise Disagreement("verify", f"{how}: {report.findings}")


def _run_sql(random: Random, world: World, text: str) -> None:
    bus = world.bus if world.bus is not None and random.random() < 0.7 else None
    world.unfollowed |= bus is None
    row = headgate.sql(text, NOT_DURABLE, bus=bus).to_pylist()[0]
    status = str((row.get("metrics") or row)["status"])
    world.log.append(f"  -> {row}"[:600])
    # What fits only in a way may be left as it is by a merge, which says so.
    is_left = status.lower().startswith(("error", "partial")) and any(path in str(row) for path in world.odd)
    if status.lower().startswith(("error", "partial")) and not is_left:
        raise Disagreement("statement", f"{text}: {row}")
