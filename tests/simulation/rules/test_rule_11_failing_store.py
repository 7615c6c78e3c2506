"""Rule 11: one failing store delays its own tables only; beyond the bound their proposals are read again from the bus.

Without it: the committed offset passes proposals that nobody decided, or one table stops all others.
"""

from headgate_committer.limits import CommitterLimits
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.operations import Append, Committed
from headgate_table.indextables.cleaning.plan import Protected
from headgate_worker.roles.undecided import protected_by
from support.simulation.scenario import TABLE, Scenario
from support.simulation.world.scheduler import Process
from support.simulation.world.world import GROUP

OTHER = "memory://lake/second"


def test_other_tables_go_on_while_one_store_fails_and_its_proposals_wait() -> None:
    with Scenario() as play:
        other = play.new_table(OTHER)
        play.committer("committer", limits=CommitterLimits(queue_proposals=3))
        play.faults.outages.add(TABLE)
        waiting = [play.propose() for _ in range(10)]
        served = [_to_other(play) for _ in range(5)]
        play.until(lambda: all(play.told(identity) for identity in served), "answers for the other table")
        play.run_for(10)
        assert other.newest > 0
        assert play.committed_offset() == 0
        assert not any(play.told(identity) for identity in waiting)
        play.faults.outages.clear()
        play.settle()
        assert [play.told(identity) for identity in waiting] == [
            [Committed(play.version_of(identity), identity)] for identity in waiting
        ]


def test_what_waits_for_a_store_is_decided_by_a_later_committer_if_this_one_dies() -> None:
    with Scenario() as play:
        play.new_table(OTHER)
        first = play.committer("first", limits=CommitterLimits(queue_proposals=3))
        play.faults.outages.add(TABLE)
        waiting = [play.propose() for _ in range(6)]
        play.decided(_to_other(play))
        assert first.process is not None
        first.process.kill()
        play.lose_place(first)
        play.faults.outages.clear()
        play.committer("second")
        play.settle()
        assert [play.version_of(identity) > 0 for identity in waiting] == [True] * 6


def _to_other(play: Scenario) -> str:
    path = play.file_name("eu")
    play.put_file(OTHER, path, 10)
    return play.propose(Append((AddFile(path, {"region": "eu"}, 10, 1),)), table=OTHER)


def test_truncating_keeps_a_version_that_came_after_it_had_looked_at_the_bus() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        play.committed(3)
        looked = play.by("operator", lambda process: _looked(play, process))
        proposal = play.propose()
        play.halt(committer.process, "bus.publish", "2 events")
        for _ in range(3):
            play.direct(Append((play.file(),)), interval=1)
        play.by("operator", lambda process: play.table(process, TABLE).truncate_history(protected=looked))
        play.ended(committer)
        play.committer("successor")
        play.settle()
        assert play.told(proposal) == [Committed(4, proposal)]


def _looked(play: Scenario, process: Process) -> Protected:
    reader = play.table(process, TABLE).reader
    return protected_by(play.bus(process), GROUP, reader, play.ambient(process))
