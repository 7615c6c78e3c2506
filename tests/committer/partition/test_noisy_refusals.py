"""A writer whose proposals are refused again and again: everybody else's are decided as if it weren't there."""

from headgate_schemas.messages.operations import Append, Committed, Delete, Duplicate, RejectCode, Rejected
from support.committing.rig import Rig
from support.tables import add_file

NOISE = 1_500
LONG = "no-such-file-" + "x" * 300


def noisy_rig() -> Rig:
    """As many refusals as the table can remember, and half as many more, within seconds."""
    rig = Rig(interval=2)
    rig.settings["coordinator.dedupe.maxIds"] = "1000"
    rig.create_first()
    return rig


def make_noise(rig: Rig, name: str = "noise", count: int = NOISE) -> None:
    committer = rig.committer(name)
    for start in range(0, count, 500):
        for number in range(start, start + 500):
            rig.propose(Delete((f"{LONG}-{name}-{number}.parquet",)), proposal_id=f"{name}-{number}")
        rig.settle(committer)
        rig.ambient.advance(seconds=1)
    committer.close()


def test_fresh_proposals_of_others_are_committed() -> None:
    rig = noisy_rig()
    mine = rig.proposal(Append((add_file("mine"),)))
    make_noise(rig)
    rig.send(mine)
    rig.settle(rig.committer("after"))
    assert isinstance(rig.receipts()[mine.id], Committed)


def test_ids_that_were_committed_before_the_noise_are_known_after_it() -> None:
    rig = noisy_rig()
    mine = rig.proposal(Append((add_file("mine"),)))
    rig.send(mine)
    make_noise(rig)
    rig.send(mine)
    rig.settle(rig.committer("after"))
    assert rig.receipts()[mine.id] == Duplicate(1, mine.id)


def test_a_refusal_among_them_is_told_again_with_its_code() -> None:
    rig = noisy_rig()
    bad = rig.proposal(Delete((LONG,)))
    make_noise(rig, count=500)
    rig.send(bad)
    make_noise(rig, "more", count=500)
    rig.receipts()
    rig.send(bad)
    rig.settle(rig.committer("after"))
    receipt = rig.receipts()[bad.id]
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.NOT_LIVE


def test_what_was_refused_and_forgotten_is_not_committed_when_it_comes_again_late() -> None:
    """Break: an author is told that its change is in no version, and an hour later a version has it."""
    rig = noisy_rig()
    bad = rig.proposal(Delete(("a.parquet",)))
    rig.send(bad)
    make_noise(rig)
    rig.append("a")
    rig.ambient.advance(hours=1)
    rig.append("b")
    committer = rig.committer("after")
    rig.settle(committer)
    rig.send(bad)
    rig.settle(committer)
    receipt = rig.receipts()[bad.id]
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.EXPIRED
    assert rig.table().snapshot().paths() == ["a.parquet", "b.parquet"]


def test_fresh_proposals_are_committed_after_the_noise_though_the_bus_is_a_month_ahead() -> None:
    """Break: count by the bus alone how late a proposal comes. All of them are late then, and may be forgotten refusals for an hour."""
    rig = noisy_rig()
    make_noise(rig)
    committer = rig.committer("after")
    for name in ("a", "b"):
        rig.ambient.advance(seconds=120)
        rig.append(name)
        rig.settle(committer)
    mine = rig.proposal(Append((add_file("mine"),)))
    rig.ambient.advance(hours=720)
    rig.send(mine)
    rig.ambient.advance(hours=-720)
    rig.settle(committer)
    assert isinstance(rig.receipts()[mine.id], Committed)
