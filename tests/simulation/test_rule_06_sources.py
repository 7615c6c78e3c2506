"""Rule 6: positions compare only within one source, and a log that lost undecided proposals is not believed.

Without it: on a rebuilt cluster offsets begin anew, and proposals are skipped or decided as if nothing had happened.
"""

from headgate_bus.interface import Topic
from headgate_committer.rebind import rebind
from headgate_schemas.operations import Committed
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.options import table_options
from support.simulation.committers import CommitterSeat
from support.simulation.executors import resources_of
from support.simulation.scenario import TABLE, Scenario
from support.simulation.scheduler import Process


def _ended(play: Scenario, seat: CommitterSeat) -> None:
    assert seat.process is not None
    seat.process.kill()
    play.lose_place(seat)
    play.run_for(1)


def _rebind(play: Scenario) -> None:
    def run(process: Process) -> object:
        ambient = play.ambient(process)
        reader = LogReader(play.store(process, TABLE), resources_of(ambient))
        return rebind(play.bus(process), reader, ambient, table_options)

    play.by("operator", run)


def test_proposals_of_a_rebuilt_cluster_wait_for_a_rebind() -> None:
    with Scenario() as play:
        first = play.committer("first")
        play.committed(3)
        _ended(play, first)
        play.rebuild_cluster()
        play.committer("second")
        proposal = play.propose()
        play.run_for(30)
        assert play.told(proposal) == []
        assert play.model.newest == 3
        _rebind(play)
        play.settle()
        assert play.told(proposal) == [Committed(5, proposal)]


def test_a_committer_of_the_old_cluster_is_fenced_by_a_rebind() -> None:
    with Scenario() as play:
        old = play.committer("old")
        play.committed(2)
        play.propose()
        play.halt(old.process, "store.create", "v3")
        play.rebuild_cluster()
        _rebind(play)
        assert old.process is not None
        old.process.thaw()
        play.run_for(30)
        assert play.model.newest == 3
        assert play.model.decided.keys() == {"p1", "p2"}


def test_undecided_proposals_that_were_truncated_stop_the_table() -> None:
    with Scenario() as play:
        first = play.committer("first")
        play.committed(2)
        _ended(play, first)
        for _ in range(3):
            play.propose()
        end = play.cluster.partition(Topic.PROPOSALS, 0).next_offset
        play.cluster.truncate(Topic.PROPOSALS, 0, end)
        play.committer("second")
        proposal = play.propose()
        play.run_for(30)
        assert play.told(proposal) == []
        assert play.model.newest == 2


def test_a_quiet_table_behind_a_trimmed_log_goes_on() -> None:
    with Scenario() as play:
        first = play.committer("first")
        play.committed(1)
        other = "memory://lake/other"
        play.add_store(other)
        for _ in range(3):
            play.decided(play.propose(table=other))
        play.run_for(1)
        _ended(play, first)
        play.cluster.truncate(Topic.PROPOSALS, 0, play.committed_offset())
        play.committer("second")
        proposal = play.decided(play.propose())
        assert play.told(proposal) == [Committed(2, proposal)]
