"""The end of a random run: faults cease, everybody has an answer within bounds, the same asked again is answered alike, and
whoever is told to stop leaves.
"""

import random
from collections.abc import Sequence

from headgate_bus.interface import Message, Topic
from headgate_schemas.messages.cloud_events import subject_of
from support.simulation.actors.work import Crew
from support.simulation.judge.broken import InvariantBroken, must
from support.simulation.world.faults import CALM
from support.simulation.world.seats import Seat
from support.simulation.world.world import World

CALM_S = 900
"""Simulated seconds after the last fault, within which everybody has an answer."""
STOP_S = 60
"""Simulated seconds in which a committer that is told to stop leaves, when all is calm."""
ASKED_AGAIN = 8
LOOK_EVERY = 50
"""Turns between two looks at whether all is done."""


def calm(world: World) -> None:
    """Nothing goes wrong any more."""
    world.scheduler.note("simulation", "from here on, all is well")
    world.faults.rates = CALM
    for fiber in world.scheduler.fibers:
        fiber.process.thaw()
        fiber.process.slowness = 1.0


def settle(world: World, crew: Crew) -> None:
    """Everybody gets an answer, and the committed offset reaches the end."""

    def are_committed() -> list[tuple[int, int]]:
        """By partition, the committed offset and the end of the log. What was trimmed is nobody's to commit."""
        logs = world.cluster.topic(Topic.PROPOSALS)
        return [(max(world.committed_offset(number), log.first), log.next_offset) for number, log in enumerate(logs)]

    def is_settled() -> bool:
        return (
            crew.is_done
            and not world.receipts.unanswered()
            and all(committed == end for committed, end in are_committed())
        )

    if not world.scheduler.run(is_settled, world.scheduler.now_ms + CALM_S * 1000, every=LOOK_EVERY):
        raise InvariantBroken(
            f"after {CALM_S} s without faults, {world.receipts.unanswered()[:5]} have no answer, the committed offsets and ends "
            f"are {are_committed()}, and {crew.undone} are not done (liveness)"
        )


def ask_again(world: World, crew: Crew, drawn: random.Random) -> None:
    """Some proposals come once more: their answers must agree with the first (invariant 5)."""
    known = [record for record in world.receipts.asked if subject_of(record.headers) in world.asks.by_id]
    again = drawn.sample(known, min(ASKED_AGAIN, len(known)))
    told, aside = world.receipts.count, len(world.receipts.set_aside)
    for record in again:
        world.cluster.append(Topic.PROPOSALS, [Message(record.key, record.headers, record.body)])
    settle(world, crew)
    # What goes to an address by which nobody serves the table now, is set aside.
    answered = world.receipts.count - told + len(world.receipts.set_aside) - aside
    must(answered >= len(again), "somebody who asked again was told nothing")


def stop(world: World, seats: Sequence[Seat]) -> None:
    """Told to stop, each one leaves by itself, soon; and none ever ended by what nobody expects."""
    for seat in seats:
        bad = [ending for ending in seat.endings if ending.startswith("unexpected")]
        must(not bad, f"{seat.name} ended by {bad}")
    running = [seat for seat in seats if seat.is_running]
    for seat in seats:
        seat.stopping = True
    deadline_ms = world.scheduler.now_ms + STOP_S * 1000
    world.scheduler.run(lambda: all(seat.process.is_over for seat in running if seat.process), deadline_ms)
    ended = [seat.endings[-1:] for seat in running]
    must(
        ended == [["stopped"]] * len(running),
        f"committers and workers that were told to stop ended by {ended} within {STOP_S} s",
    )
