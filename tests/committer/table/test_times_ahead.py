"""A batch that the bus dates a month ahead, and an author whose clock is ahead: others are decided as before, and ids stay known."""

from headgate_bus.interface import Topic
from headgate_committer.committer import Committer
from headgate_committer.limits import CommitterLimits
from headgate_schemas.messages.operations import Append, Committed, Duplicate, Receipt, RejectCode, Rejected
from support.ambient import FakeAmbient
from support.committing.rig import Rig
from support.tables import add_file

MONTH_HOURS = 24 * 30
MANY = 1_200
ONE_EACH = CommitterLimits(linger_ms=0, group_proposals=300)


def rig_of_thousand() -> Rig:
    rig = Rig(interval=4)
    rig.settings["coordinator.dedupe.maxIds"] = "1000"
    rig.create_first()
    return rig


def sent_in_the_future(rig: Rig, *names: str) -> None:
    """As by one machine whose clock is a month ahead; nobody else's is."""
    rig.ambient.advance(hours=MONTH_HOURS)
    messages = [rig.proposal(Append((add_file(name),)), created_ms=rig.ambient.now_ms()) for name in names]
    for message in messages:
        rig.send(message)
    rig.ambient.advance(hours=-MONTH_HOURS)


def dates_itself_again(rig: Rig) -> None:
    """The bus goes on by the clocks of others."""
    for log in rig.bus.cluster.logs[Topic.PROPOSALS]:
        log.last_time_ms = 0


def two_minutes_later(rig: Rig, committer: Committer) -> None:
    """What is that old may be forgotten, once two versions tell so."""
    rig.ambient.advance(seconds=120)
    for _ in range(2):
        rig.append(f"later-{rig.ambient.now_ms()}")
        rig.settle(committer)
        rig.ambient.advance(seconds=1)
    rig.receipts()


def test_ids_stay_known_and_fresh_proposals_are_committed_behind_a_batch_from_the_future() -> None:
    rig = rig_of_thousand()
    mine = rig.proposal(Append((add_file("mine"),)))
    rig.send(mine)
    before = rig.committer("before")
    rig.settle(before)
    before.close()
    sent_in_the_future(rig, "future")
    dates_itself_again(rig)
    committer = rig.committer("after")
    told = {}
    for number in range(6):
        rig.ambient.advance(seconds=60)
        fresh = rig.append(f"fresh-{number}")
        rig.settle(committer)
        told[fresh] = rig.receipts()[fresh]
    assert [type(receipt) for receipt in told.values()] == [Committed] * 6
    rig.send(mine)
    rig.settle(committer)
    assert rig.receipts()[mine.id] == Duplicate(1, mine.id)


def test_fresh_proposals_are_committed_when_the_batch_from_the_future_would_be_forgotten() -> None:
    rig = rig_of_thousand()
    sent_in_the_future(rig, "future")
    dates_itself_again(rig)
    committer = rig.committer(limits=ONE_EACH)
    for number in range(MANY):
        rig.append(f"f{number}")
    rig.settle(committer, 40)
    rig.ambient.advance(seconds=120)
    rig.receipts()
    fresh = rig.append("fresh")
    rig.settle(committer)
    assert isinstance(rig.receipts()[fresh], Committed)


def test_fresh_proposals_are_committed_while_the_bus_itself_stays_a_month_ahead() -> None:
    """As a bus in a file does, whose times never go back."""
    rig = rig_of_thousand()
    sent_in_the_future(rig, "future")
    committer = rig.committer(limits=ONE_EACH)
    rig.settle(committer)
    first = rig.proposal(Append((add_file("first"),)))
    rig.send(first)
    for number in range(MANY):
        rig.append(f"f{number}")
    rig.settle(committer, 40)
    two_minutes_later(rig, committer)
    fresh = rig.append("fresh")
    rig.send(first)
    rig.settle(committer)
    receipts = rig.receipts()
    assert isinstance(receipts[fresh], Committed)
    again = receipts[first.id]
    assert isinstance(again, Rejected)
    assert again.code is RejectCode.EXPIRED


def test_what_an_author_a_month_ahead_sent_is_not_committed_twice_though_its_id_was_forgotten() -> None:
    rig = rig_of_thousand()
    ahead_ms = rig.ambient.now_ms() + MONTH_HOURS * 3_600_000
    ahead = rig.proposal(Append((add_file("ahead"),)), created_ms=ahead_ms)
    committer = rig.committer(limits=ONE_EACH)
    rig.send(ahead)
    for number in range(2 * MANY):
        rig.append(f"f{number}")
    rig.settle(committer, 60)
    two_minutes_later(rig, committer)
    rig.send(ahead)
    other = rig.append("other", created_ms=ahead_ms)
    fresh = rig.append("fresh")
    rig.settle(committer)
    receipts = rig.receipts()
    assert isinstance(receipts[fresh], Committed)
    assert not isinstance(receipts[ahead.id], Committed)
    refused = receipts[other]
    assert isinstance(refused, Rejected)
    assert refused.code is RejectCode.EXPIRED
    assert "clock" in refused.reason


def test_who_sends_by_a_clock_a_month_ahead_is_told_that_the_clock_is_why() -> None:
    """Break: compare with the bus alone, which a file's bus dates by the author's own clock. The reason then names a horizon
    that lies long before the proposal.
    """
    rig = rig_of_thousand()
    committer = rig.committer(limits=ONE_EACH)
    for number in range(2 * MANY):
        rig.append(f"f{number}")
    rig.settle(committer, 60)
    two_minutes_later(rig, committer)
    sent_in_the_future(rig, "ahead")
    rig.settle(committer)
    [refused] = [receipt for receipt in rig.receipts().values() if isinstance(receipt, Rejected)]
    assert refused.code is RejectCode.EXPIRED
    assert "lies in the future" in refused.reason


def test_a_committer_whose_clock_is_behind_decides_fresh_proposals_of_an_idle_table() -> None:
    """Break: by the committer's own clock, everybody's proposals are made in the future, and so expired."""
    rig = rig_of_thousand()
    first = rig.committer(limits=ONE_EACH)
    for number in range(MANY):
        rig.append(f"f{number}")
    rig.settle(first, 40)
    first.close()
    rig.receipts()
    rig.ambient.advance(hours=48)
    behind = FakeAmbient("behind", rig.ambient.now_ms() - 3 * 3_600_000)
    fresh = rig.append("fresh")
    rig.settle(rig.committer("behind", ambient=behind))
    assert isinstance(rig.receipts()[fresh], Committed)


def test_fresh_proposals_are_committed_however_many_came_in_the_last_seconds() -> None:
    """Break: forget what was made a moment ago. The horizon lies so close that whatever is proposed now was made before it."""
    rig = rig_of_thousand()
    committer = rig.committer(limits=ONE_EACH)
    first = rig.proposal(Append((add_file("first"),)))
    rig.send(first)
    for start in range(0, 4 * MANY, 200):
        for number in range(start, start + 200):
            rig.append(f"f{number}")
        rig.settle(committer)
        rig.ambient.advance(seconds=1)
    assert {type(receipt) for receipt in rig.receipts().values()} == {Committed}
    fresh = rig.append("fresh")
    rig.send(first)
    rig.settle(committer)
    assert isinstance(rig.receipts()[fresh], Committed)


def test_an_author_fifty_minutes_ahead_fills_its_own_room_and_nobody_elses() -> None:
    """Break: forget what a clock that is ahead has made. The horizon lies in the future, and everybody waits for that time."""
    rig = rig_of_thousand()
    committer = rig.committer(limits=ONE_EACH)
    told: dict[str, Receipt] = {}
    for start in range(0, 2 * MANY, 200):
        ahead_ms = rig.ambient.now_ms() + 50 * 60_000
        theirs = [rig.append(f"ahead-{number}", created_ms=ahead_ms) for number in range(start, start + 200)]
        mine = rig.append(f"mine-{start}")
        rig.settle(committer)
        receipts = rig.receipts()
        assert isinstance(receipts[mine], Committed)
        told |= {identity: receipts[identity] for identity in theirs}
        rig.ambient.advance(seconds=61)
    refused = [receipt for receipt in told.values() if isinstance(receipt, Rejected)]
    assert len(told) - len(refused) >= 1_000
    assert {receipt.code for receipt in refused} == {RejectCode.EXPIRED}
    assert "Set its author's clock" in refused[-1].reason
