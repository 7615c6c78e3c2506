"""Rule 5: ids have a horizon, the time at which the newest forgotten proposal was made. Those made before it are not decided.

Without it: an id that was forgotten is committed a second time; or, with a decider's clock, a backlog expires undelivered.
"""

import pytest

from headgate_committer.limits import CommitterLimits
from headgate_schemas.messages.operations import Committed, Delete, Duplicate, RejectCode, Rejected, Writer
from support.simulation.actors.committers import CommitterSeat
from support.simulation.scenario import Scenario


def _ended(play: Scenario, seat: CommitterSeat) -> None:
    assert seat.process is not None
    seat.process.kill()
    play.lose_place(seat)
    play.run_for(1)


def test_an_id_that_was_forgotten_isnt_committed_a_second_time() -> None:
    with Scenario() as play:
        first = play.committer("first", interval=2)
        old = play.decided(play.propose())
        _ended(play, first)
        play.days(8)
        play.committer("second", interval=2)
        play.committed(3)
        play.repeat(old)
        play.decided(old)
        receipt = play.told(old)[-1]
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.EXPIRED
        assert play.version_of(old) == 1


def test_what_waited_for_nine_days_is_decided_at_its_first_delivery() -> None:
    with Scenario() as play:
        first = play.committer("first")
        play.decided(play.propose())
        _ended(play, first)
        play.run_for(60)
        waited = [play.propose() for _ in range(3)]
        play.days(9)
        waited.append(play.propose())
        play.committer("second", limits=CommitterLimits(group_proposals=1))
        play.settle()
        assert [type(receipt) for identity in waited for receipt in play.told(identity)] == [Committed] * 4


def test_within_the_window_the_same_id_gets_its_first_decision_after_a_restart() -> None:
    with Scenario() as play:
        first = play.committer("first", interval=2)
        good = play.decided(play.propose())
        bad = play.decided(play.propose(Delete(("region=eu/never-was.parquet",))))
        play.committed(3)
        _ended(play, first)
        play.committer("second", interval=2)
        for identity in (good, bad):
            play.repeat(identity)
            play.decided(identity)
        assert play.told(good)[-1] == Duplicate(1, good)
        assert play.told(bad)[-1] == play.told(bad)[0]


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (Writer("job", 1), None),
        (Writer("job", 1), Writer("other", 1)),
        (Writer("job", 1), Writer("job", 2)),
        (None, Writer("job", 1)),
    ],
)
@pytest.mark.parametrize("restarts", [True, False])
def test_an_id_is_in_one_version_whichever_writer_sends_it(
    first: Writer | None, later: Writer | None, restarts: bool
) -> None:
    """Break: know a proposal with a writer by its seq alone. The id is decided once more."""
    with Scenario() as play:
        seat = play.committer("first", interval=2)
        identity = play.decided(play.propose(writer=first))
        play.committed(3)
        if restarts:
            _ended(play, seat)
            play.committer("second", interval=2)
        play.repeat_as(identity, later)
        play.decided(identity)
        assert play.told(identity) == [Committed(1, identity), Duplicate(1, identity)]
