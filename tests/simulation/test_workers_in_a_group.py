"""Workers that share a table: one that dies, one that doesn't know that it was replaced, one that missed its events, one that
is told to stop. At any time two of them may be at the same work, and the committer judges both.
"""

from headgate_bus.interface import Topic
from support.simulation.actors.workers import WorkerSeat
from support.simulation.scenario import TABLE, Scenario


def _rows(play: Scenario) -> int:
    return play.model.rows_of(play.model.live()).total()


def _merged(play: Scenario) -> None:
    play.until(lambda: len(play.model.live()) == 1, "a merge of everything")


def _halted_before_it_proposes(play: Scenario, name: str, role: str = "merge") -> WorkerSeat:
    worker = play.worker(name, role)
    play.halt(worker.process, "bus.append", "proposals")
    return worker


def test_an_event_that_was_lost_only_delays() -> None:
    with Scenario() as play:
        play.committer("committer")
        worker = play.worker("worker", "merge", watches=False)
        play.committed(3)
        _merged(play)
        play.run_for(20)
        assert worker.process is not None
        worker.process.freeze()
        play.committed(2)
        for number, log in enumerate(play.cluster.topic(Topic.EVENTS)):
            play.cluster.truncate(Topic.EVENTS, number, log.next_offset)
        worker.process.thaw()
        _merged(play)
        assert _rows(play) == 5


def test_a_worker_that_dies_in_the_middle_is_replaced() -> None:
    with Scenario() as play:
        play.committer("committer")
        first = play.worker("first", "merge", watches=False)
        play.committed(3)
        play.halt(first.process, "store.put", "region=eu/merged", after=True)
        assert first.process is not None
        first.process.kill()
        second = play.worker("second", "merge", watches=False)
        play.run_for(20)
        assert len(play.model.live()) == 3
        play.lose_place(first)
        _merged(play)
        assert second.process is not None
        assert _rows(play) == 3


def test_a_worker_that_doesnt_know_it_was_replaced_merges_nothing_twice() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed(3)
        zombie = _halted_before_it_proposes(play, "zombie")
        play.lose_place(zombie)
        play.worker("successor", "merge")
        _merged(play)
        assert zombie.process is not None
        zombie.process.thaw()
        play.logged("task_done", zombie)
        play.settle()
        assert _rows(play) == 3
        assert play.model.merges == 1


def test_what_a_worker_that_was_replaced_wrote_in_vain_it_takes_away_itself() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed(3)
        zombie = _halted_before_it_proposes(play, "zombie")
        play.lose_place(zombie)
        play.worker("successor", "merge")
        _merged(play)
        assert zombie.process is not None
        zombie.process.thaw()
        play.logged("task_done", zombie)
        merged = [info.key for info in play.model.store.list("region=eu/merged")]
        assert merged == list(play.model.live())


def test_a_worker_that_is_told_to_stop_leaves_and_the_next_one_goes_on() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed(3)
        first = _halted_before_it_proposes(play, "first")
        first.retire()
        assert first.process is not None
        first.process.thaw()
        play.until(lambda: bool(first.endings), "the end of the first", within_s=10)
        assert first.endings == ["stopped"]
        play.committed(2)
        play.worker("second", "merge")
        _merged(play)
        assert _rows(play) == 5


def test_workers_let_the_committer_catch_up_first() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        play.committed(3)
        play.ended(committer)
        for _ in range(1_001):
            play.propose()
        play.worker("worker", "merge")
        play.run_for(60)
        assert not list(play.model.store.list("region=eu/merged"))
        play.committer("second")
        play.until(lambda: play.model.merges > 0, "a merge", within_s=600)
        assert play.table(play.process("reader"), TABLE).uri == TABLE
