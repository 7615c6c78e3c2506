"""Ids that are proposed again when everybody has forgotten them: through a producer, by jobs that kept the id, and perhaps its time."""

import random
from collections.abc import Sequence
from functools import partial

from headgate_producer.errors import NotSent
from headgate_producer.producer import Producer
from headgate_schemas.messages.cloud_events import subject_of
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.operation_bodies import operation_of
from headgate_schemas.messages.operations import Append, Operation
from headgate_schemas.messages.proposals import Proposal, decode_proposal
from headgate_table.errors import OutcomeUnknown
from support.simulation.actors.operations import REGIONS, added_file
from support.simulation.judge.asked import ask_of
from support.simulation.world.executors import resources_of
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World

RETRIED = "id: proposed again after it was forgotten"
KINDS = (RETRIED,)
"""By this name it is counted."""
CHANCE = 0.25
"""Of a run to have them."""
HOURS = 8 * 24.0
"""Longer than decisions are known by their id."""
FRESH = 3
"""Versions that have to come before anything is forgotten."""
IDS = 3
ATTEMPTS = 5
WAIT_S = 60.0


def retry_forgotten(world: World, uris: Sequence[str], drawn: random.Random) -> None:
    """Days later. What was decided once must not be decided again, which the model of the table judges."""
    world.receipts.may_expire = True
    world.let_pass(HOURS)
    for uri in uris:
        known = [proposal for proposal in _proposed(world, uri) if proposal.writer is None]
        chosen = drawn.sample(known, min(IDS, len(known)))
        if chosen:
            process = world.process("retrier")
            world.complete(process, partial(_retry, world, process, uri, chosen, drawn))


def _retry(world: World, process: Process, uri: str, chosen: Sequence[Proposal], drawn: random.Random) -> None:
    ambient, store = world.ambient(process), world.store(process, uri)
    producer = Producer(
        world.bus(process),
        uri,
        author="retrier",
        ambient=ambient,
        threads=False,
        store=store,
        resources=resources_of(ambient),
    )
    for _ in range(FRESH):
        path = world.file_name(drawn.choice(REGIONS))
        file = added_file(path, path.partition("/")[0].removeprefix("region="))
        world.put_file(uri, path, file.size)
        identity = ambient.new_id()
        world.asks.add(ask_of(identity, uri, Append((file,))))
        _told(world, producer, uri, Append((file,)), identity, ambient.now_ms())
    for proposal in chosen:
        assert proposal.operation is not None
        world.faults.injected[RETRIED] += 1
        created_ms = proposal.created if drawn.random() < 0.5 else None
        _told(world, producer, uri, operation_of(proposal.operation), proposal.id, created_ms)


def _told(
    world: World, producer: Producer, uri: str, operation: Operation, identity: str, created_ms: int | None
) -> None:
    for _ in range(ATTEMPTS):
        try:
            ticket = producer.propose(operation, proposal_id=identity, created=created_ms or None)
            world.receipts.seen(ticket.wait(WAIT_S), uri)
            return
        except (OutcomeUnknown, NotSent) as error:
            world.scheduler.note("retrier", f"{type(error).__name__}: {error}")
    raise AssertionError(f"{identity} got no answer in calm weather")


def _proposed(world: World, uri: str) -> list[Proposal]:
    found = {}
    for record in world.receipts.asked:
        if record.key == uri and subject_of(record.headers) in world.asks.by_id:
            try:
                proposal = decode_proposal(record.body)
            except UnreadableMessage:
                continue  # rubbish
            if proposal.operation is not None:
                found[proposal.id] = proposal
    return list(found.values())
