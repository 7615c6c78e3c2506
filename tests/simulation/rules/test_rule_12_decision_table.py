"""Rule 12: the decision table, where histories could get around it.

Without it: a path comes back to life under another proposal, a merge moves files to another partition, or a foreign state over
our version makes acknowledged files disappear.
"""

from headgate_committer.limits import CommitterLimits
from headgate_schemas.messages.operations import Append, Committed, Delete, RejectCode, Rejected, Restore, Rewrite
from support.simulation.scenario import TABLE, Scenario
from support.simulation.troubles import foreign
from support.simulation.world.scheduler import Process


def _code(play: Scenario, proposal: str) -> RejectCode:
    (receipt,) = play.told(proposal)
    assert isinstance(receipt, Rejected), receipt
    return receipt.code


def test_a_path_that_was_removed_in_a_retained_version_cant_be_added_again() -> None:
    with Scenario() as play:
        play.committer("committer")
        file = play.file()
        play.decided(play.propose(Append((file,))))
        play.decided(play.propose(Delete((file.path,))))
        again = play.decided(play.propose(Append((file,))))
        assert _code(play, again) is RejectCode.PATH_IN_USE


def test_a_removed_path_stays_refused_when_no_state_has_its_tombstone_any_more() -> None:
    with Scenario() as play:
        file = play.file()
        play.direct(Append((file, play.file())), interval=1)
        play.direct(Delete((file.path,)), interval=1)
        play.by("worker", lambda process: play.table(process, TABLE).compact())
        play.committer("committer")
        again = play.decided(play.propose(Append((file,))))
        assert _code(play, again) is RejectCode.PATH_IN_USE


def test_a_removed_path_is_refused_in_the_same_group_too() -> None:
    with Scenario() as play:
        file = play.file()
        play.direct(Append((file,)))
        play.propose(Delete((file.path,)))
        again = play.propose(Append((file,)))
        play.committer("committer")
        play.settle()
        assert _code(play, again) is RejectCode.PATH_IN_USE


def test_a_rewrite_keeps_the_partition_of_its_sources() -> None:
    with Scenario() as play:
        play.committer("committer")
        source = play.file("eu")
        play.decided(play.propose(Append((source,))))
        moved = play.decided(play.propose(Rewrite((source.path,), (play.file("us"),))))
        assert _code(play, moved) is RejectCode.PARTITION_MISMATCH


def test_a_foreign_writers_return_of_a_removed_path_is_live_in_the_next_state() -> None:
    with Scenario() as play:
        file = play.file()
        play.direct(Append((file, play.file())), interval=1)
        play.direct(Delete((file.path,)), interval=1)
        play.by("foreign", lambda process: _foreign_add(play, process, file.path))
        play.committer("committer", interval=1)
        play.committed()
        play.run_for(1)
        assert max(play.model.states) == play.model.newest
        assert file.path in play.by("reader", lambda process: play.table(process, TABLE).snapshot().paths())


def test_a_restore_has_its_own_state_even_while_another_is_written() -> None:
    with Scenario() as play:
        file = play.file()
        play.propose(Append((file,)))
        play.propose(Delete((file.path,)))
        back = play.propose(Restore(1))
        for _ in range(3):
            play.propose()
        play.committer("committer", interval=2, limits=CommitterLimits(group_proposals=1))
        play.settle()
        assert play.told(back) == [Committed(3, back)]
        assert 3 in play.model.states


def test_a_foreign_state_over_our_version_stops_the_table() -> None:
    with Scenario() as play:
        first = play.committer("first", interval=2)
        play.committed(3)
        play.run_for(1)
        assert first.process is not None
        first.process.kill()
        play.lose_place(first)
        # A writer that numbers by states alone doesn't see our version 3; the model must not judge what it does.
        live = dict(play.model.versions[2].live) | {"other": foreign.add(play.file().path, 5, "eu", 1)}
        objects = play.stores[TABLE].inner
        foreign.write_state(objects, 3, live, play.model.versions[2].metadata, "abcdef12", play.scheduler.now_ms)
        play.committer("second", interval=2)
        proposal = play.propose()
        play.run_for(30)
        assert play.told(proposal) == []
        assert play.model.newest == 3
        assert "written by another program over version 3" in play.trace.last(400)


def test_a_foreign_state_where_ours_was_to_be_written_stops_the_table() -> None:
    with Scenario() as play:
        committer = play.committer("committer", interval=3)
        play.committed(2)
        play.propose()
        play.halt(committer.process, "store.create", "state 3")
        live = {"other": foreign.add(play.file().path, 5, "eu", 1)}
        objects = play.stores[TABLE].inner
        foreign.write_state(objects, 3, live, play.model.versions[2].metadata, "abcdef12", play.scheduler.now_ms)
        assert committer.process is not None
        committer.process.thaw()
        play.run_for(5)
        proposal = play.propose()
        play.run_for(30)
        assert play.told(proposal) == []
        assert play.model.newest == 3
        assert "lists other files" in play.trace.last(400)


def _foreign_add(play: Scenario, process: Process, path: str) -> int | None:
    now_ms = play.scheduler.now_ms
    return foreign.commit(play.store(process, TABLE), [foreign.add(path, 12, "eu", now_ms)], [], now_ms)
