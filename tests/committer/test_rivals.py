"""Two deployments on one bus: the second is refused before it has answered anything, and is told by whom."""

from collections.abc import Sequence

import pytest

from headgate_bus.interface import Deployment
from headgate_committer.committer import Committer
from headgate_committer.errors import RivalDeployment
from headgate_committer.rivals import rivalry
from headgate_schemas.messages.operations import Committed
from support.committing.rig import TABLE, Rig

BUS = "sqlite:///bus.db"


@pytest.mark.parametrize(
    ("mine", "others"),
    [
        (Deployment("a", ()), []),
        (Deployment("a", ("s3://x", "s3://y")), [Deployment("a", ("s3://y", "s3://x"))]),
        (Deployment("a", ("s3://x",)), [Deployment("a", None)]),
    ],
)
def test_members_of_one_group_with_the_same_roots_share_the_work(mine: Deployment, others: list[Deployment]) -> None:
    assert rivalry(mine, others, BUS) is None


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        (("a", ()), ("b", ("s3://x",)), "committers of group b, which serve tables below s3://x, decide everything"),
        (("a", ("s3://x",)), ("b", ("s3://y",)), "group a of this committer can't begin"),
        (("a", ()), ("b", None), "which serve tables that they don't tell"),
        (("a", ("s3://x",)), ("a", ()), "another of its group a serves all tables"),
        (("a", ()), ("a", ("s3://x",)), "which serves all tables, can't begin"),
    ],
)
def test_others_are_rivals(
    mine: tuple[str, tuple[str, ...]], other: tuple[str, tuple[str, ...] | None], said: str
) -> None:
    reason = rivalry(Deployment(*mine), [Deployment(*other)], BUS)
    assert reason is not None
    assert said in reason


def _committer(rig: Rig, name: str, group: str = "blue", roots: Sequence[str] = ()) -> Committer:
    return rig.committer(name, group=group, roots=roots)


def _steps(committer: Committer) -> None:
    for _ in range(20):
        committer.step(0.0)


@pytest.mark.parametrize(("group", "roots"), [("green", ()), ("green", ("memory://x",)), ("blue", ("memory://x",))])
def test_the_second_deployment_refuses_and_the_first_goes_on(group: str, roots: tuple[str, ...]) -> None:
    rig = Rig()
    first = _committer(rig, "first")
    rig.settle(first)
    rig.receipts()
    second = _committer(rig, "second", group, roots)
    proposal = rig.append("a")
    with pytest.raises(RivalDeployment, match="can't begin"):
        _steps(second)
    assert rig.receipts() == {}
    assert rig.dead_letters() == []
    for _ in range(3):
        first.step(0.0)
    assert rig.receipts() == {proposal: Committed(1, proposal)}


def test_a_committer_begins_once_the_other_group_has_gone() -> None:
    rig = Rig()
    first = _committer(rig, "first")
    rig.settle(first)
    second = _committer(rig, "second", "green")
    second.step(0.0)
    first.close()
    proposal = rig.append("a")
    for _ in range(6):
        second.step(0.0)
    assert rig.receipts()[proposal] == Committed(1, proposal)


def test_who_is_at_work_does_not_give_way_to_a_newcomer() -> None:
    """Break: look around at every step, and both end."""
    rig = Rig()
    first = _committer(rig, "first")
    rig.settle(first)
    newcomer = rig.bus.again().seat("green")
    newcomer.poll(0.0)
    proposal = rig.append("a")
    rig.ambient.advance(seconds=60)
    for _ in range(5):
        first.step(0.0)
    assert rig.receipts()[proposal] == Committed(1, proposal)


def test_who_lost_its_place_looks_around_before_it_begins_again() -> None:
    rig = Rig()
    first = _committer(rig, "first")
    rig.settle(first)
    rig.bus.cluster.group("blue").leave(first._seat)  # type: ignore[arg-type]
    second = _committer(rig, "second", "green")
    rig.settle(second)
    with pytest.raises(RivalDeployment):
        _steps(first)
    assert rig.table(TABLE).version == 0
