"""Rule 1: a created version counts only if its predecessor still stands.

Without it: somebody pauses before writing 1; others commit 1 to 4 and cleaning removes 0 to 2; the late create of 1 succeeds,
and what it holds is acknowledged, though nobody ever reads it.
"""

from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Append, Committed, Create, RejectCode, Rejected
from support.simulation.scenario import TABLE, Scenario
from support.simulation.world.scheduler import Process
from support.simulation.world.world import COLUMNS, PARTITION_BY


def _others_commit_and_clean(play: Scenario) -> None:
    """Up to version 4; 3 and 4 are left."""
    while play.model.newest < 4:
        play.direct(Append((play.file(),)), interval=2)
    play.by("cleaner", lambda process: play.table(process, TABLE, {"checkpoint.interval": "2"}).truncate_history())
    assert play.model.present == {3, 4}


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


def test_a_late_version_that_others_seem_to_follow_is_nobodys_answer() -> None:
    """Its number is the last that was cleaned, so its file joins those that are left."""
    with Scenario() as play:
        play.direct(Append((play.file(),)))
        file = play.file()

        def append(process: Process) -> object:
            return play.table(process, TABLE).append([file])

        late, receipts = play.begun("late", append)
        play.halt(late, "store.create", "v2")
        _others_commit_and_clean(play)
        late.thaw()
        play.until(lambda: bool(receipts), "a receipt")
        assert play.model.ghosts == {2}
        assert file.path in play.model.versions[5].live


def test_a_late_committers_proposal_is_decided_again_on_top_of_the_log() -> None:
    with Scenario() as play:
        play.direct(Append((play.file(),)))
        late = play.committer("late")
        proposal = play.propose()
        play.halt(late.process, "store.create", "v2")
        _others_commit_and_clean(play)
        assert late.process is not None
        late.process.thaw()
        play.settle()
        assert play.model.ghosts == {2}
        assert play.told(proposal) == [Committed(5, proposal)]


def test_a_committer_that_creates_a_table_late_is_told_that_there_is_one() -> None:
    uri = "memory://lake/late"
    with Scenario() as play:
        play.add_store(uri)
        late = play.committer("late")
        proposal = play.propose(Create(schema_string_of(COLUMNS), PARTITION_BY), table=uri)
        play.halt(late.process, "store.create", "v0")
        play.make_table(uri)
        settings = {"checkpoint.interval": "1"}
        for _ in range(3):
            play.by("direct", lambda process: play.table(process, uri, settings).append([play.file()]))
        play.by("cleaner", lambda process: play.table(process, uri, settings).truncate_history())
        assert play.models[uri].present == {3}
        assert late.process is not None
        late.process.thaw()
        play.settle()
        assert play.models[uri].ghosts == {0}
        [receipt] = play.told(proposal)
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.ALREADY_EXISTS


def test_a_late_committer_does_not_build_on_the_file_of_another_late_writer() -> None:
    """The first fills number 1, the second 2, both cleaned meanwhile: the file below the second is not the one that it read."""
    with Scenario() as play:
        file = play.file()
        first, receipts = play.begun("first", lambda process: play.table(process, TABLE).append([file]))
        play.halt(first, "store.create", "v1")
        play.direct(Append((play.file(),)))
        second = play.committer("second")
        proposal = play.propose()
        play.halt(second.process, "store.create", "v2")
        _others_commit_and_clean(play)
        first.thaw()
        play.until(lambda: bool(receipts), "a receipt")
        assert second.process is not None
        second.process.thaw()
        play.settle()
        assert receipts == [Committed(5, receipts[0].proposal_id)]
        assert play.told(proposal) == [Committed(6, proposal)]
        assert play.model.ghosts == {1, 2}
