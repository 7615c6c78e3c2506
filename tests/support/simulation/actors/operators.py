"""What operators do by hand: propose to swap manifests; truncate and purge in a hurry, without any retention. What undecided
proposals need, and what may have to be announced again, stays even then.
"""

import random

from headgate_bus.interface import Topic
from headgate_schemas.errors import HeadgateError
from headgate_table.indextables.cleaning.cleaner import Cleaner
from headgate_table.indextables.cleaning.truncate import Truncation
from headgate_table.indextables.compaction.compactor import Compactor
from headgate_worker.roles.undecided import protected_by
from support.simulation.actors.committers import SETTINGS
from support.simulation.actors.workloads import Note, message_of
from support.simulation.judge.asked import ask_of
from support.simulation.world.scheduler import Process
from support.simulation.world.world import GROUP, World
from support.tables import committer_of

TIMES = 4


def compactor(world: World, process: Process, *, table: str, count: int) -> None:
    """Proposes to swap manifests."""
    drawn = random.Random(f"compactor/{world.seed}/{process.name}")
    for number in range(count):
        process.sleep(3 + drawn.random() * 10)
        opened = world.table(process, table)
        try:
            log = opened.reader.latest()
            if log.state is None:
                continue
            work = Compactor(opened.reader, world.ambient(process), opened.options)
            plan = work.plan(log.state, full=drawn.random() < 0.5)
            if not plan.is_needed:
                continue
            operation = work.prepare(log.state, plan, opened.metadata)
            note = Note(f"{process.name}-{number}", operation, None, created_ms=world.scheduler.now_ms)
            world.asks.add(ask_of(note.id, table, operation))
            world.bus(process).append(Topic.PROPOSALS, [message_of(note, table, process.name)])
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")


def clean_in_a_hurry(world: World, process: Process, *, table: str) -> None:
    drawn = random.Random(f"cleaner/{world.seed}/{process.name}")
    for _ in range(TIMES):
        process.sleep(4 + drawn.random() * 15)
        settings = {**SETTINGS, "purge.retentionCheckEnabled": "false"}
        opened = world.table(process, table, settings)
        reader, ambient, committer = opened.reader, world.ambient(process), committer_of(opened)
        try:
            # As the command line does where a bus is set: it looks first at what waits there.
            protected = protected_by(world.bus(process), GROUP, reader, ambient)
            if drawn.random() < 0.5:
                Truncation(reader, ambient, opened.options, committer.checkpoint, protected).run()
            else:
                Cleaner(reader, ambient, opened.options, committer.commit, protected).purge(0, 0)
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
