"""Rule 3: data files are deleted only after an accepted purge, which forbids their paths.

Without it: an old orphan is appended between the cleaner's look and its delete, and a live file is gone.
"""

from headgate_schemas.messages.operations import Append, RejectCode, Rejected
from headgate_table.indextables.cleaning.plan import Protected
from headgate_table.table import Table
from support.simulation.actors.committers import SETTINGS
from support.simulation.scenario import TABLE, Scenario
from support.simulation.world.scheduler import Process


def _opened(play: Scenario, process: Process) -> Table:
    return play.table(process, TABLE, {**SETTINGS, "purge.retentionCheckEnabled": "false"})


def test_an_orphan_that_is_appended_before_its_purge_stays() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed()
        orphan = play.file()
        play.run_for(1)
        cleaner, reports = play.begun(
            "cleaner", lambda process: _opened(play, process).purge(0, 0, protected=Protected())
        )
        play.halt(cleaner, "store.create", "v2")
        play.decided(play.propose(Append((orphan,))))
        cleaner.thaw()
        play.until(lambda: bool(reports), "the cleaner's report")
        assert play.model.store.head(orphan.path) is not None
        assert orphan.path in play.model.live()


def test_an_orphan_that_was_purged_cant_be_appended_any_more() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed()
        orphan = play.file()
        play.run_for(1)
        cleaner, reports = play.begun(
            "cleaner", lambda process: _opened(play, process).purge(0, 0, protected=Protected())
        )
        play.halt(cleaner, "store.delete", orphan.path)
        late = play.decided(play.propose(Append((orphan,))))
        cleaner.thaw()
        play.until(lambda: bool(reports), "the cleaner's report")
        (receipt,) = play.told(late)
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.PATH_IN_USE
        assert play.model.store.head(orphan.path) is None


def test_a_worker_leaves_an_old_orphan_that_is_appended_while_it_looks() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed()
        orphan = play.file()
        play.days(3)
        worker = play.worker("worker", "clean")
        play.halt(worker.process, "bus.append", "proposals")
        play.decided(play.propose(Append((orphan,))))
        assert worker.process is not None
        worker.process.thaw()
        play.logged("task_done", worker)
        assert orphan.path in play.model.live()
        assert play.model.store.head(orphan.path) is not None


def test_an_append_behind_a_workers_purge_is_refused() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        play.committed()
        orphan = play.file()
        play.days(3)
        worker = play.worker("worker", "clean")
        play.halt(committer.process, "store.create", "v2")
        late = play.propose(Append((orphan,)))
        assert committer.process is not None
        committer.process.thaw()
        play.decided(late)
        play.until(lambda: play.model.store.head(orphan.path) is None, "the end of the orphan")
        (receipt,) = play.told(late)
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.PATH_IN_USE
        play.ended(worker)


def test_a_worker_doesnt_even_ask_for_an_orphan_that_waits_to_be_appended() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        play.committed()
        play.ended(committer)
        orphan = play.file()
        play.propose(Append((orphan,)))
        play.days(3)
        worker = play.worker("worker", "clean")
        play.logged("task_done", worker)
        assert not any(ask.purges for ask in play.asks.by_id.values())
