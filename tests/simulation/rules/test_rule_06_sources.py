"""Rule 6: positions compare only within one source, and a log that lost undecided proposals is not believed.

Without it: on a rebuilt cluster offsets begin anew, and proposals are skipped or decided as if nothing had happened.
"""

from headgate_bus.interface import Topic
from headgate_committer.rebind.rebind import rebind
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Committed, Create
from headgate_table.indextables.log.reader import LogReader
from headgate_table.settings.options import table_options
from support.simulation.actors.committers import CommitterSeat
from support.simulation.scenario import TABLE, Scenario
from support.simulation.world.executors import resources_of
from support.simulation.world.scheduler import Process
from support.simulation.world.world import COLUMNS, GROUP, PARTITION_BY


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


OTHER = "memory://lake/other"


def _end(play: Scenario) -> int:
    return play.cluster.partition(Topic.PROPOSALS, 0).next_offset


def _lost_and_grown(play: Scenario) -> tuple[str, str]:
    """The bus loses what the table decided last, and another table's proposals take the same offsets, and more; then the table's.

    Returns one of each.
    """
    play.lose_tail(_end(play) - 3)
    others = [play.propose(table=OTHER) for _ in range(2)]
    proposal = play.propose()
    others += [play.propose(table=OTHER) for _ in range(3)]
    return others[-1], proposal


def _began(play: Scenario) -> CommitterSeat:
    """A committer that has decided for both tables."""
    play.add_store(OTHER)
    first = play.committer("first")
    play.decided(play.propose(Create(schema_string_of(COLUMNS), PARTITION_BY), table=OTHER))
    play.committed(4)
    return first


def test_a_log_that_lost_its_end_is_not_believed_once_it_has_grown_again() -> None:
    """Break: compare positions with what was read of the log since, and the refusal lifts itself."""
    with Scenario() as play:
        play.ended(_began(play))
        play.lose_tail(_end(play) - 3)
        second = play.committer("second")
        proposal = play.propose()
        play.logged("table_waits", second)
        other = [play.propose(table=OTHER) for _ in range(5)][-1]
        play.run_for(60)
        assert [type(receipt) for receipt in play.told(other)] == [Committed]
        assert play.told(proposal) == []
        assert play.model.newest == 4
        _rebind(play)
        play.settle()
        assert play.told(proposal) == [Committed(6, proposal)]


def test_a_log_that_lost_its_end_and_has_grown_is_not_believed_by_a_committer_that_saw_neither() -> None:
    with Scenario() as play:
        play.ended(_began(play))
        committed = play.committed_offset()
        other, proposal = _lost_and_grown(play)
        play.cluster.group(GROUP).committed[0] = committed - 4  # a file that was restored knows no later offset
        play.committer("second")
        play.run_for(60)
        assert [type(receipt) for receipt in play.told(other)] == [Committed]
        assert play.told(proposal) == []
        assert play.model.newest == 4
        _rebind(play)
        play.settle()
        assert play.told(proposal) == [Committed(6, proposal)]


def test_a_log_that_has_grown_over_the_committed_offset_is_not_believed() -> None:
    """Break: equal positions are taken for proof; the proposals below the committed offset are passed over in silence."""
    with Scenario() as play:
        play.ended(_began(play))
        assert play.committed_offset() == _end(play)
        other, proposal = _lost_and_grown(play)
        assert play.committed_offset() <= _end(play)
        play.committer("second")
        play.run_for(60)
        assert [type(receipt) for receipt in play.told(other)] == [Committed]
        assert play.told(proposal) == []
        assert play.model.newest == 4
        _rebind(play)
        play.settle()
        assert play.told(proposal) == [Committed(6, proposal)]


def test_a_successor_doesnt_begin_behind_what_took_the_place_of_a_lost_end() -> None:
    """Break: leave the committed offset where it is, beyond the end of the log."""
    with Scenario() as play:
        first = _began(play)
        play.ended(first)
        play.lose_tail(_end(play) - 3)
        second = play.committer("second")
        play.logged("partition_taken", second)
        play.ended(second)
        proposal = play.propose(table=OTHER)
        for _ in range(4):
            play.propose(table=OTHER)
        play.committer("third")
        play.settle()
        assert play.told(proposal) == [Committed(1, proposal)]
