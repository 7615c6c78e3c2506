"""Rule 10: no first receipt without a version that holds the decision.

Without it: a rejection is told, the committer dies, the table changes, and the same proposal is accepted.
"""

from headgate_schemas.messages.operations import Append, Delete, RejectCode, Rejected
from support.simulation.scenario import Scenario
from support.simulation.world.faults import Fault


def test_a_group_of_rejections_writes_a_version() -> None:
    with Scenario() as play:
        play.committer("committer")
        proposal = play.decided(play.propose(Delete(("region=eu/never-was.parquet",))))
        assert play.model.newest == 1
        assert play.model.versions[1].live == {}
        assert play.model.decided[proposal].code == "not_live"


def test_a_rejection_stands_although_the_table_changed_before_it_was_told() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        file = play.file()
        play.faults.plan(Fault.DIES_BEFORE, "bus.publish", "2 events", process="committer")
        proposal = play.propose(Delete((file.path,)))
        process = committer.process
        assert process is not None
        play.until(lambda: process.is_over, "the death of the committer")
        play.lose_place(committer)
        play.direct(Append((file,)))
        play.committer("second")
        play.settle()
        (receipt,) = play.told(proposal)
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.NOT_LIVE
        assert file.path in play.model.live()
