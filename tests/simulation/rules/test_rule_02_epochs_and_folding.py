"""Rule 2: epochs and folding. What another committer's version says is taken over in whole, and only a later term fences.

Without it: at an ordinary failover the old owner's version lands first; taken for a foreign one, its proposals would be
decided twice. And two committers by mistake would go on side by side.
"""

from headgate_schemas.messages.operations import Committed
from support.simulation.scenario import Scenario


def test_a_version_that_nobody_announced_is_announced_by_the_next_owner() -> None:
    with Scenario() as play:
        old = play.committer("old")
        proposal = play.propose()
        play.halt(old.process, "store.create", "v1", after=True)
        play.lose_place(old)
        play.committer("new")
        play.settle()
        assert play.told(proposal) == [Committed(1, proposal)]
        assert play.model.newest == 1


def test_when_the_old_owners_version_lands_first_its_decisions_are_taken_over() -> None:
    with Scenario() as play:
        # Both are in epoch 1: of two ids, the later one goes on.
        old = play.committer("a-old")
        proposal = play.propose()
        play.halt(old.process, "store.create", "v1")
        play.lose_place(old)
        new = play.committer("b-new")
        play.halt(new.process, "store.create", "v1")
        assert old.process is not None
        assert new.process is not None
        old.process.thaw()
        play.until(lambda: play.model.newest == 1, "the old owner's version")
        new.process.thaw()
        play.settle()
        assert play.told(proposal) == [Committed(1, proposal)]
        assert play.model.newest == 1


def test_of_two_owners_in_one_epoch_the_one_with_the_lower_id_stops() -> None:
    with Scenario() as play:
        old = play.committer("b-old")
        proposal = play.propose()
        play.halt(old.process, "store.create", "v1")
        play.lose_place(old)
        new = play.committer("a-new")
        play.halt(new.process, "store.create", "v1")
        assert old.process is not None
        assert new.process is not None
        old.process.thaw()
        play.until(lambda: play.model.newest == 1, "the old owner's version")
        new.process.thaw()
        play.until(lambda: bool(new.endings), "the end of the new owner")
        assert new.endings == ["Overtaken"]
        play.lose_place(new)
        play.committer("a-new")
        play.settle()
        assert play.told(proposal) == [Committed(1, proposal)]


def test_an_owner_that_lost_its_place_before_it_announced_says_nothing() -> None:
    with Scenario() as play:
        old = play.committer("old")
        first = play.propose()
        play.halt(old.process, "bus.publish", "2 events")
        play.lose_place(old)
        play.committer("new")
        play.settle()
        second = play.propose()
        play.settle()
        assert old.process is not None
        old.process.thaw()
        play.until(lambda: "partition_taken_away" in play.trace.last(400), "what the old owner says")
        play.run_for(2)
        assert play.told(first) == [Committed(1, first)]
        assert play.told(second) == [Committed(2, second)]


def test_of_two_committers_by_mistake_the_earlier_one_is_fenced_and_says_so() -> None:
    with Scenario() as play:
        one = play.committer("one")
        play.decided(play.propose())
        play.run_for(1)
        proposal = play.propose()
        play.halt(one.process, "store.create", "v2")
        play.cluster.announces = False  # one of the two is of a release that doesn't look around
        # Another group's committer reads the same proposals, and no bus keeps the two apart.
        other = play.committer("other", group="another-group")
        play.until(lambda: play.model.newest == 2, "the other's version")
        assert one.process is not None
        one.process.thaw()
        play.until(lambda: bool(one.endings), "the end of the earlier one")
        assert one.endings == ["Overtaken"]
        assert other.endings == []
        play.settle()
        assert play.told(proposal) == [Committed(2, proposal)]
