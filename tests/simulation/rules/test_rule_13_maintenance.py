"""Invariants 6 and 7: maintenance never changes the rows, what can be read, or what somebody still needs.

Without them: a merge that an overwrite overtook brings old rows back; what a crash left lies about for ever, or is deleted
while it is committed; the receipts of a version that was cleaned up are never told.
"""

from collections.abc import Sequence

from headgate_schemas.messages.operations import Append, Committed, Overwrite, RejectCode, Rejected
from support.simulation.actors.maintenance import FLOORS
from support.simulation.actors.workers import WorkerSeat
from support.simulation.scenario import TABLE, Scenario
from support.simulation.world.faults import Fault
from support.simulation.world.scheduler import Process


def _at_work(play: Scenario, name: str, operation: str, key: str, *roles: str) -> WorkerSeat:
    """A worker that stands right before this step."""
    worker = play.worker(name, *roles)
    play.halt(worker.process, operation, key)
    return worker


def _goes_on(play: Scenario, worker: WorkerSeat) -> None:
    assert worker.process is not None
    worker.process.thaw()
    play.logged("task_done", worker)


def _outputs(play: Scenario) -> list[str]:
    return [info.key for info in play.model.store.list("region=eu/merged")]


def _read(play: Scenario, versions: Sequence[int]) -> list[tuple[list[str], list[str], list[str]]]:
    """What each version holds, and what has changed since."""

    def read(process: Process) -> list[tuple[list[str], list[str], list[str]]]:
        table = play.table(process, TABLE)
        told = []
        for version in versions:
            changes = table.changes(version, versions[-1])
            added, removed = (sorted(rows.column("path").to_pylist()) for rows in (changes.added, changes.removed))
            told.append((sorted(table.snapshot(version).paths()), added, removed))
        return told

    return play.by("reader", read)


def test_a_merge_whose_source_was_overwritten_meanwhile_changes_nothing() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed(3)
        worker = _at_work(play, "worker", "bus.append", "proposals", "merge")
        new = play.file()
        play.decided(play.propose(Overwrite((new,), "region = 'eu'")))
        _goes_on(play, worker)
        assert list(play.model.live()) == [new.path]
        assert _outputs(play) == []


def test_what_a_merge_left_when_it_died_is_found_by_cleaning() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed(3)
        worker = _at_work(play, "first", "bus.append", "proposals", "merge")
        play.ended(worker)
        assert len(_outputs(play)) == 1
        play.days(2)
        play.worker("second", "clean")
        play.until(lambda: not _outputs(play), "the end of what was left")
        assert play.model.rows_of(play.model.live()).total() == 3


def test_what_a_merge_proposed_before_it_died_is_kept_and_committed() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        play.committed(3)
        play.ended(committer)
        worker = play.worker("first", "merge")
        play.halt(worker.process, "bus.append", "proposals", after=True)
        play.ended(worker)
        play.days(2)
        cleaning = play.worker("second", "clean")
        play.run_for(30)
        assert not any(ask.purges for ask in play.asks.by_id.values())
        play.committer("successor")
        play.settle()
        play.ended(cleaning)
        assert list(play.model.live()) == _outputs(play)


def test_a_merge_that_was_away_until_its_output_was_cleaned_up_is_refused() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed(3)
        zombie = _at_work(play, "zombie", "bus.append", "proposals", "merge")
        play.lose_place(zombie)
        play.days(2)
        play.worker("cleaner", "clean")
        play.until(lambda: not _outputs(play), "the end of the output")
        _goes_on(play, zombie)
        assert play.model.merges == 0
        assert len(play.model.live()) == 3


def test_an_output_whose_fate_is_unknown_is_kept() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        play.committed(3)
        play.ended(committer)
        worker = play.worker("worker", "merge")
        play.logged("merge_outcome_unknown", worker)
        play.run_for(1)
        assert len(_outputs(play)) >= 1
        play.ended(worker)
        play.committer("successor")
        play.settle()
        assert next(iter(play.model.live())) in _outputs(play)


def test_cleaning_keeps_versions_that_nobody_has_announced_yet() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        proposal = play.propose()
        play.halt(committer.process, "bus.publish", "2 events")
        play.ended(committer)
        for _ in range(4):
            play.direct(Append((play.file(),)), interval=1)
        play.days(2)
        cleaning = play.worker("worker", "clean")
        play.logged("task_done", cleaning)
        play.ended(cleaning)
        play.committer("successor")
        play.settle()
        assert play.told(proposal) == [Committed(1, proposal)]


def test_an_append_is_never_refused_for_a_purge_of_another_path() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed()
        orphan = play.file()
        play.days(2)
        worker = _at_work(play, "worker", "store.delete", orphan.path, "clean")
        fresh = play.decided(play.propose())
        _goes_on(play, worker)
        assert isinstance(play.told(fresh)[0], Committed)
        assert play.model.store.head(orphan.path) is None


def test_a_purge_whose_cleaner_died_is_carried_out_by_the_next() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed()
        orphan = play.file()
        play.days(2)
        play.ended(_at_work(play, "first", "store.delete", orphan.path, "clean"))
        play.worker("second", "clean")
        play.until(lambda: play.model.store.head(orphan.path) is None, "the end of the orphan")


def test_a_purged_path_is_refused_when_no_version_tells_of_the_purge_any_more() -> None:
    with Scenario() as play:
        first = play.committer("first", interval=2)
        play.committed()
        orphan = play.file()
        play.days(2)
        worker = play.worker("worker", "clean")
        play.until(lambda: play.model.store.head(orphan.path) is None, "the end of the orphan")
        purged_in = max(number for number, version in play.model.versions.items() if version.purged)
        play.committed(6)
        play.days(4)
        play.until(lambda: purged_in not in play.model.present, "the end of the version that purged")
        play.ended(worker)
        play.ended(first)
        play.committer("second", interval=2)
        late = play.decided(play.propose(Append((orphan,))))
        (receipt,) = play.told(late)
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.PATH_IN_USE


def test_what_was_read_before_maintenance_reads_alike_after_it() -> None:
    with Scenario() as play:
        play.committer("committer", interval=2)
        play.model.floors = FLOORS
        play.committed(4)
        play.decided(play.propose(Overwrite((play.file("us"),), "region = 'us'")))
        play.decided(play.propose(Overwrite((play.file("eu"),), "region = 'eu'")))
        play.committed(4)
        versions = range(play.model.newest + 1)
        before = _read(play, versions)
        play.worker("worker", "compact", "merge", "clean", state__compaction__maxManifests="1")
        play.until(lambda: play.model.merges > 0 and play.model.swaps > 0, "a merge and a compaction")
        play.run_for(20)
        assert _read(play, versions) == before


def test_a_source_that_cant_be_read_doesnt_stop_the_others_from_being_merged() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed(4)
        bad = min(play.model.live())
        worker = play.worker("worker", "merge")
        worker.is_damaged = lambda path: path == bad  # type: ignore[method-assign]  # one file of one test
        play.until(lambda: len(play.model.live()) == 2, "a merge of the others")
        assert bad in play.model.live()


def test_a_merge_whose_output_may_not_have_been_written_proposes_nothing() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed(3)
        play.faults.plan(Fault.LATE, "store.put", "merged-", process="worker")
        play.worker("worker", "merge")
        play.until(lambda: play.model.merges == 1, "a merge")
        assert play.model.rows_of(play.model.live()).total() == 3
