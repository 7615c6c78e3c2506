"""Who writes without proposing: tools that commit by themselves, another program, and whoever sends rubbish."""

import random
from typing import TypeGuard

from headgate_bus.errors import BusError
from headgate_bus.interface import Message, Topic
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.operations import Committed, Delete, Duplicate, Operation, Receipt, Restore
from support.simulation.actors.operations import REGIONS, Operations
from support.simulation.actors.workloads import Note, message_of
from support.simulation.judge.asked import ask_of
from support.simulation.troubles import foreign
from support.simulation.world.data_files import RECORDS
from support.simulation.world.real_time import judge_real_time
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World

FOREIGN_COMMIT = "table: a foreign writer commits"
FOREIGN_STATE = "table: a foreign writer makes a state"
RUBBISH = "bus: a message that nobody can decide"
NOISE = "bus: a noisy neighbour proposes what is refused"
MISPLACED = "bus: a message on the wrong partition"
KINDS = (FOREIGN_COMMIT, FOREIGN_STATE, RUBBISH, NOISE, MISPLACED)
"""What others do, by the names that it is counted by."""
NOISE_MESSAGES = 180
"""In one burst: six of them are more than the fewest ids that a table may be set to remember."""
FEWEST_IDS = 1_000


def direct_writer(world: World, process: Process, *, table: str, count: int) -> None:
    """A tool that commits by itself, by the same rules."""
    drawn = random.Random(f"direct/{world.seed}/{process.name}")
    operations = Operations(drawn, world, table)
    for _ in range(count):
        process.sleep(drawn.random() * 6)
        operation = operations.draw()
        _write_files(world, table, operation)
        before = world.models[table].acknowledged
        try:
            receipt = world.table(process, table).commit(operation)
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
            continue
        if receipt_counts(receipt):
            world.receipts.seen(receipt, table)
            judge_real_time({receipt.proposal_id: before}, receipt.proposal_id, receipt.version, table)


def _write_files(world: World, table: str, operation: Operation) -> None:
    for file in getattr(operation, "files", ()) or getattr(operation, "adds", ()):
        if world.models[table].store.head(file.path) is None:
            world.put_file(table, file.path, file.size)


def receipt_counts(receipt: Receipt) -> TypeGuard[Committed | Duplicate]:
    """A direct commit that is refused leaves no trace in the log."""
    return isinstance(receipt, Committed | Duplicate)


def foreign_writer(world: World, process: Process, *, table: str, count: int) -> None:
    """Another program's commits, now and then with a state."""
    drawn = random.Random(f"foreign/{world.seed}/{process.name}")
    model = world.models[table]
    store = world.store(process, table)
    ambient = world.ambient(process)
    for _ in range(count):
        process.sleep(drawn.random() * 8)
        if model.newest < 0:
            continue  # the table isn't there yet
        region = drawn.choice(REGIONS)
        live = sorted(model.live())
        # Now and then it adds what is there already, as it is.
        again = model.live()[drawn.choice(live)] if live and drawn.random() < 0.15 else None
        path = world.file_name(region) if again is None else str(again["path"])
        region = path.partition("/")[0].removeprefix("region=")
        removes = [item for item in drawn.sample(live, min(1, len(live))) if item != path]
        size, records = 7, RECORDS
        if again is None:
            world.put_file(table, path, size)
        else:
            size, records = again["size"], again.get("numRecords", RECORDS)
        adds = [foreign.add(path, size, region, ambient.now_ms()) | {"numRecords": records}]
        try:
            world.faults.injected[FOREIGN_COMMIT] += 1
            number = foreign.commit(store, adds, removes if drawn.random() < 0.3 else [], ambient.now_ms())
            if number is not None and drawn.random() < 0.6:
                version = model.versions[number]
                kept = foreign.newest_state_metadata(store, age=drawn.choice((0, 0, 1))) or {}
                metadata = dict(version.metadata)
                old = {
                    key: text for key, text in (kept.get("configuration") or {}).items() if key.startswith("headgate.")
                }
                metadata["configuration"] = {**(metadata.get("configuration") or {}), **old}
                world.faults.injected[FOREIGN_STATE] += 1
                foreign.write_state(store, number, version.live, metadata, ambient.new_id(), ambient.now_ms())
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")


def noisy_writer(world: World, process: Process, *, table: str, count: int) -> None:
    """Proposes without pause what the table must refuse, far more of it than there are ids to remember."""
    drawn = random.Random(f"noise/{world.seed}/{process.name}")
    bus = world.bus(process)
    now_ms = world.ambient(process).now_ms
    for number in range(count):
        process.sleep(drawn.random() * 3)
        notes = [
            Note(
                f"{process.name}-{number}-{turn}", Delete(("region=north/nowhere.parquet",)), None, created_ms=now_ms()
            )
            for turn in range(NOISE_MESSAGES)
        ]
        for note in notes:
            world.asks.add(ask_of(note.id, table, note.operation))
        try:
            world.faults.injected[NOISE] += 1
            bus.append(Topic.PROPOSALS, [message_of(note, table, process.name) for note in notes])
        except BusError as error:
            world.scheduler.note(process.name, str(error))


def misplacing_writer(world: World, process: Process, *, table: str, count: int) -> None:
    """A client that chooses partitions by another rule: something new, or what others have proposed where it belongs."""
    drawn = random.Random(f"misplaced/{world.seed}/{process.name}")
    operations = Operations(drawn, world, table)
    wrong = (world.home_of(table) + 1) % world.partitions
    for number in range(count):
        process.sleep(drawn.random() ** 2 * 5)
        known = [record for record in world.receipts.asked if record.key == table]
        if known and drawn.random() < 0.5:
            record = drawn.choice(known)
            message = Message(table, record.headers, record.body)
        else:
            operation = operations.draw()
            _write_files(world, table, operation)  # somebody may send it again to where it belongs
            note = Note(f"{process.name}-{number}", operation, None, created_ms=world.scheduler.now_ms)
            world.asks.add(ask_of(note.id, table, operation))
            message = message_of(note, table, process.name)
        if world.cluster.available:
            world.faults.injected[MISPLACED] += 1
            world.cluster.append_at(Topic.PROPOSALS, wrong, message)


def rubbish_writer(world: World, process: Process, *, table: str, count: int) -> None:
    """Messages that nobody can decide."""
    drawn = random.Random(f"rubbish/{world.seed}/{process.name}")
    bus = world.bus(process)
    for number in range(count):
        process.sleep(drawn.random() * 5)
        identity = f"{process.name}-{number}"
        headers = attributes(kind=PROPOSAL, event_id=identity, source="x", subject=identity, time_ms=0)
        note = Note(identity, Restore(1), None)
        bodies: list[tuple[str, bytes]] = [
            (table, b"\x00\xffnot json"),
            (table, b'{"format":1,"id":"' + identity.encode() + b'"}'),
            (table, b"{}"),
            ("memory://lake/nowhere", message_of(note, "memory://lake/nowhere", "x").body),
            (table, message_of(note, table, "x").body.replace(b'"restore"', b'"invented"')),
        ]
        key, body = drawn.choice(bodies)
        try:
            world.faults.injected[RUBBISH] += 1
            bus.append(Topic.PROPOSALS, [Message(key, headers, body)])
        except BusError as error:
            world.scheduler.note(process.name, str(error))
