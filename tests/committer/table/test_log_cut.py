"""A log that was cut or made anew, and has grown over the committed offset again: nothing that lies there is passed over."""

import pytest

from headgate_bus.interface import Message, Topic
from headgate_committer.committer import DEFAULT_GROUP, Committer
from headgate_committer.rebind.rebind import rebind
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Append, Committed, Create, Duplicate, Receipt
from headgate_table.indextables.log.reader import LogReader
from headgate_table.settings.options import table_options
from support.committing.rig import TABLE, Rig
from support.tables import COLUMNS, add_file, fresh_resources

OTHER = "memory://other"


def _steps(rig: Rig, committer: Committer, count: int = 10) -> None:
    for _ in range(count):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)


def _end(rig: Rig) -> int:
    return rig.bus.extent(Topic.PROPOSALS, 0).next_offset


def _committed(rig: Rig) -> int | None:
    return rig.bus.committed(DEFAULT_GROUP, 0)


def _began(*, old: bool = False) -> tuple[Rig, Committer]:
    """Both tables are made, the first has two versions more, and everything is settled."""
    rig = Rig(TABLE, OTHER)
    committer = rig.committer("first")
    for name in ("a", "b"):
        rig.append(name)
        rig.settle(committer)
    assert _committed(rig) == _end(rig) == 4
    if old:
        rig.bus.cluster.group(DEFAULT_GROUP).marks.clear()
    rig.receipts()
    return rig, committer


def _told(rig: Rig) -> dict[str, Receipt]:
    """Receipts of what came after the beginning; the earlier ones may be told again, and agree with the first."""
    first = {f"create-{TABLE}": 0, f"create-{OTHER}": 0, "p1": 1, "p2": 2}
    told: dict[str, Receipt] = {}
    for proposal, receipt in rig.receipts().items():
        if proposal in first:
            assert isinstance(receipt, Committed | Duplicate)
            assert receipt.version == first[proposal]
        else:
            told[proposal] = receipt
    return told


def _cut_and_grown(rig: Rig, lost: int, *names: str) -> list[str]:
    """The log loses its newest proposals and takes others, until it is longer than before."""
    rig.bus.cluster.lose_tail(Topic.PROPOSALS, 0, _end(rig) - lost)
    proposals = [rig.append(name) for name in names]
    assert _end(rig) > 4
    return proposals


def _rebind(rig: Rig) -> None:
    report = rebind(rig.bus, LogReader(rig.stores[TABLE], fresh_resources()), rig.ambient, table_options)
    assert report.version is not None, report.reason


def _refused_then_rebound(rig: Rig, committer: Committer, proposals: list[str]) -> None:
    """The table that lost what it had decided last is held; after a rebind everything on the bus is decided."""
    _steps(rig, committer)
    assert "it was truncated or restored from a copy" in committer.refused[TABLE]
    assert "headgate table rebind" in committer.refused[TABLE]
    assert _told(rig) == {}
    _rebind(rig)
    _steps(rig, committer)
    assert committer.refused == {}
    assert _told(rig) == {proposal: Committed(4, proposal) for proposal in proposals}


def test_proposals_below_the_offset_that_was_committed_before_a_cut_are_not_passed_over() -> None:
    """Break: believe the committed offset because the log is as long as it was."""
    rig, first = _began()
    first.close()
    proposals = _cut_and_grown(rig, 1, "x", "y", "z")
    _refused_then_rebound(rig, rig.committer("second"), proposals)


def test_a_running_committer_that_is_told_of_a_cut_looks_again() -> None:
    rig, committer = _began()
    rig.bus.cluster.lose_tail(Topic.PROPOSALS, 0, _end(rig) - 1)
    committer.step(0.0)
    proposals = [rig.append(name) for name in ("x", "y", "z")]
    _refused_then_rebound(rig, committer, proposals)


def test_a_table_whose_own_proposals_all_lie_before_the_cut_goes_on() -> None:
    rig, first = _began()
    first.close()
    rig.bus.cluster.lose_tail(Topic.PROPOSALS, 0, _end(rig) - 1)
    others = [rig.append(name, table=OTHER) for name in ("x", "y", "z")]
    committer = rig.committer("second")
    _steps(rig, committer)
    assert committer.refused.keys() == {TABLE}
    receipts = _told(rig)
    assert {other: receipts[other] for other in others} == {other: Committed(1, other) for other in others}


def test_a_table_that_nobody_fed_yet_is_made_though_its_proposal_lies_below_the_committed_offset() -> None:
    rig, first = _began()
    first.close()
    fresh = "memory://fresh"
    store = Rig(fresh, create=False).stores[fresh]
    rig.bus.cluster.lose_tail(Topic.PROPOSALS, 0, _end(rig) - 1)
    created = rig.propose(Create(schema_string_of(COLUMNS)), table=fresh)
    rig.append("x", table=OTHER)
    committer = rig.committer("second", stores={fresh: store})
    _steps(rig, committer)
    assert _told(rig)[created] == Committed(0, created)


def test_what_was_lost_before_anybody_settled_it_changes_nothing() -> None:
    rig, first = _began()
    first.close()
    rig.append("lost")
    (fresh,) = _cut_and_grown(rig, 1, "x")
    committer = rig.committer("second")
    _steps(rig, committer)
    assert _told(rig) == {fresh: Committed(3, fresh)}
    assert committer.refused == {}


def test_a_cut_is_still_known_after_another_restart() -> None:
    """Break: take the offset that was set back for one that was committed."""
    rig, first = _began()
    for number in range(40):
        rig.table().append([add_file(f"direct-{number}")])
    first.close()
    proposals = _cut_and_grown(rig, 1, "x", "y", "z")
    second = rig.committer("second")
    _steps(rig, second)
    assert TABLE in second.refused
    second.close()
    third = rig.committer("third")
    _steps(rig, third)
    assert "nobody can tell" in third.refused[TABLE]
    _rebind(rig)
    _steps(rig, third)
    assert {*_told(rig)} == {*proposals}


def test_direct_commits_do_not_hide_what_a_table_decided_before_a_cut() -> None:
    rig, first = _began()
    for number in range(40):
        rig.table().append([add_file(f"direct-{number}")])
    first.close()
    _cut_and_grown(rig, 1, "x", "y", "z")
    second = rig.committer("second")
    _steps(rig, second)
    assert "nobody can tell" in second.refused[TABLE]
    assert _told(rig) == {}


def test_a_topic_made_anew_that_has_grown_is_read_from_its_beginning() -> None:
    """Break: go on where the group had settled the topic of the same name."""
    rig, first = _began()
    first.close()
    committed = _committed(rig)
    marks = dict(rig.bus.cluster.group(DEFAULT_GROUP).marks)
    rig.bus.cluster.recreate(Topic.PROPOSALS)
    proposals = [rig.append(name) for name in ("v", "w", "x", "y", "z")]
    group = rig.bus.cluster.group(DEFAULT_GROUP)
    group.committed[0], group.marks = committed or 0, marks  # a committer that was slow to notice settled once more
    committer = rig.committer("second")
    _steps(rig, committer)
    assert "not this bus" in committer.refused[TABLE]
    _rebind(rig)
    _steps(rig, committer)
    assert _told(rig) == {proposal: Committed(4, proposal) for proposal in proposals}


@pytest.mark.parametrize("lost", [1, 2])
def test_an_offset_of_an_older_release_has_no_mark_and_every_table_is_compared(lost: int) -> None:
    rig, first = _began(old=True)
    first.close()
    _cut_and_grown(rig, lost, "w", "x", "y", "z")
    committer = rig.committer("second")
    fresh = rig.append("fresh")
    _steps(rig, committer)
    assert "holds something else" in committer.refused[TABLE]
    assert fresh not in _told(rig)


def test_where_nothing_was_lost_nothing_is_set_back(caplog: pytest.LogCaptureFixture) -> None:
    rig, first = _began()
    first.close()
    with caplog.at_level("INFO"):
        second = rig.committer("second")
        fresh = rig.append("fresh")
        _steps(rig, second)
    assert "log_set_back" not in caplog.text
    assert _told(rig) == {fresh: Committed(3, fresh)}


def test_a_quiet_table_behind_a_trimmed_mark_goes_on() -> None:
    rig, first = _began()
    for _ in range(3):
        rig.append("o", table=OTHER)
    _steps(rig, first)
    first.close()
    _told(rig)
    rig.bus.cluster.truncate(Topic.PROPOSALS, 0, _end(rig))
    second = rig.committer("second")
    fresh = rig.append("fresh")
    _steps(rig, second)
    assert _told(rig) == {fresh: Committed(3, fresh)}


def test_records_without_an_id_mark_the_log_too() -> None:
    rig, first = _began()
    log = rig.bus.cluster.partition(Topic.PROPOSALS, 0)
    log.append(0, Message("", {}, b"rubbish"), rig.ambient.now_ms())
    _steps(rig, first)
    first.close()
    rig.events()
    rig.bus.cluster.lose_tail(Topic.PROPOSALS, 0, _end(rig) - 1)
    log.append(0, Message("", {}, b"other rubbish"), rig.ambient.now_ms())
    proposal = rig.propose(Append((add_file("x"),)))
    _steps(rig, rig.committer("second"))
    assert _told(rig)[proposal] == Committed(3, proposal)
    assert [letter.offset for letter in rig.dead_letters()] == [4, 4]
