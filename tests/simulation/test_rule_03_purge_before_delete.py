"""Rule 3: data files are deleted only after an accepted purge, which forbids their paths.

Without it: an old orphan is appended between the cleaner's look and its delete, and a live file is gone.
"""

from headgate_schemas.operations import Append, RejectCode, Rejected
from headgate_table.table import Table
from support.simulation.committers import SETTINGS
from support.simulation.scenario import TABLE, Scenario
from support.simulation.scheduler import Process


def _opened(play: Scenario, process: Process) -> Table:
    return play.table(process, TABLE, {**SETTINGS, "purge.retentionCheckEnabled": "false"})


def test_an_orphan_that_is_appended_before_its_purge_stays() -> None:
    with Scenario() as play:
        play.committer("committer")
        play.committed()
        orphan = play.file()
        play.run_for(1)
        cleaner, reports = play.begun("cleaner", lambda process: _opened(play, process).purge(0, 0))
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
        cleaner, reports = play.begun("cleaner", lambda process: _opened(play, process).purge(0, 0))
        play.halt(cleaner, "store.delete", orphan.path)
        late = play.decided(play.propose(Append((orphan,))))
        cleaner.thaw()
        play.until(lambda: bool(reports), "the cleaner's report")
        (receipt,) = play.told(late)
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.PATH_IN_USE
        assert play.model.store.head(orphan.path) is None
