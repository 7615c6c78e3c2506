"""Rule 1: a created version counts only if its predecessor still stands.

Without it: somebody pauses before writing 1; others commit 1 to 4 and cleaning removes 0 to 2; the late create of 1 succeeds,
and what it holds is acknowledged, though nobody ever reads it.
"""

from headgate_schemas.operations import Append, Committed
from support.simulation.scenario import TABLE, Scenario
from support.simulation.scheduler import Process


def _others_commit_and_clean(play: Scenario) -> None:
    for _ in range(4):
        play.direct(Append((play.file(),)), interval=2)
    play.by("cleaner", lambda process: play.table(process, TABLE, {"checkpoint.interval": "2"}).truncate_history())
    assert min(play.model.present) > 1


def test_a_late_committer_doesnt_acknowledge_a_version_below_the_log() -> None:
    with Scenario() as play:
        late = play.committer("late")
        proposal = play.propose()
        play.halt(late.process, "store.create", "v1")
        _others_commit_and_clean(play)
        assert late.process is not None
        late.process.thaw()
        play.settle()
        assert play.told(proposal) == [Committed(5, proposal)]


def test_a_late_direct_commit_ends_up_on_top_of_the_log() -> None:
    with Scenario() as play:
        file = play.file()

        def append(process: Process) -> object:
            return play.table(process, TABLE).append([file])

        late, receipts = play.begun("late", append)
        play.halt(late, "store.create", "v1")
        _others_commit_and_clean(play)
        late.thaw()
        play.until(lambda: bool(receipts), "a receipt")
        assert file.path in play.model.versions[5].live
