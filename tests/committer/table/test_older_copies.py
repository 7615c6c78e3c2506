"""An older copy of a table that is put back under a running committer: it is noticed, and nothing is written upon it."""

import pytest

from headgate_committer.committer import Committer
from headgate_schemas.messages.operations import Committed, Duplicate, Writer
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.format.version_file import encode_actions
from support.committing.by_hand import ByHand
from support.committing.rig import TABLE, Rig
from support.logs.decided_logs import adds
from support.stores.memory import MemoryStore
from support.tables import add_file

INTERVALS = pytest.mark.parametrize("interval", [2, 100])


def copied(store: MemoryStore) -> dict[str, bytes]:
    return {info.key: store.get(info.key) for info in store.list()}


def put_back(store: MemoryStore, copy: dict[str, bytes]) -> None:
    store.delete([info.key for info in store.list() if info.key not in copy])
    for key, data in copy.items():
        store.put(key, data)


def files_after(store: MemoryStore, version: int) -> list[str]:
    return [info.key for info in store.list() if info.key > version_key(version) and info.key.endswith(".json")]


def played(interval: int) -> tuple[Rig, Committer, dict[str, bytes]]:
    """A committer that wrote versions 1 to 5, and the copy of versions 0 to 2 that has taken their place a while ago."""
    rig = Rig(interval=interval)
    committer = rig.committer()
    rig.settle(committer)
    copy: dict[str, bytes] = {}
    for number in range(1, 6):
        rig.append(f"f{number}", writer=Writer("w", number), proposal_id=f"P{number}")
        rig.settle(committer)
        if number == 2:
            copy = copied(rig.stores[TABLE])
    whole = copied(rig.stores[TABLE])
    rig.receipts()
    put_back(rig.stores[TABLE], copy)
    rig.ambient.time_ms += 2_000
    return rig, committer, whole


@INTERVALS
def test_nothing_is_written_upon_an_older_copy_and_its_committer_says_what_to_do(
    interval: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Break: compare the version before only after the next was written. It stands over a gap, and nobody can read the table."""
    rig, committer, _ = played(interval)
    rig.append("f6", writer=Writer("w", 6), proposal_id="P6")
    for _ in range(3):
        committer.step(0.0)
        rig.ambient.time_ms += 60_000
    assert rig.receipts() == {}
    assert rig.table().version == 2
    assert files_after(rig.stores[TABLE], 2) == []
    for part in ("table_waits", "version 5", "an older copy", "start the committer again"):
        assert part in caplog.text


@INTERVALS
def test_no_version_that_is_gone_is_claimed_for_what_comes_again(interval: int) -> None:
    """Break: answer from memory what needs no new version."""
    rig, committer, _ = played(interval)
    rig.append("f3", writer=Writer("w", 3), proposal_id="P3")
    committer.step(0.0)
    assert rig.receipts() == {}


@INTERVALS
def test_the_next_committer_goes_on_with_the_older_copy(interval: int) -> None:
    rig, committer, _ = played(interval)
    rig.append("f3", writer=Writer("w", 3), proposal_id="P3")
    committer.step(0.0)
    rig.depose(committer)
    rig.settle(rig.committer("two"))
    assert rig.receipts()["P3"] == Committed(3, "P3")
    assert rig.table().version == 3


@INTERVALS
def test_it_goes_on_by_itself_once_its_versions_are_there_again(interval: int) -> None:
    rig, committer, whole = played(interval)
    rig.append("f3", writer=Writer("w", 3), proposal_id="P3")
    rig.append("f6", writer=Writer("w", 6), proposal_id="P6")
    committer.step(0.0)
    assert rig.receipts() == {}
    put_back(rig.stores[TABLE], whole)
    rig.ambient.time_ms += 600_000
    rig.settle(committer)
    assert rig.receipts() == {"P3": Duplicate(3, "P3"), "P6": Committed(6, "P6")}


@INTERVALS
def test_a_table_that_vanished_is_waited_for(interval: int, caplog: pytest.LogCaptureFixture) -> None:
    """Break: as its disk is away, everybody is told that there is no table."""
    rig, committer, whole = played(interval)
    put_back(rig.stores[TABLE], {})
    rig.append("f6", writer=Writer("w", 6), proposal_id="P6")
    for _ in range(3):
        committer.step(0.0)
        rig.ambient.time_ms += 60_000
    assert (rig.receipts(), list(rig.stores[TABLE].list())) == ({}, [])
    assert "where version 5 was: is its disk mounted?" in caplog.text
    put_back(rig.stores[TABLE], whole)
    rig.ambient.time_ms += 600_000
    rig.settle(committer)
    assert rig.receipts() == {"P6": Committed(6, "P6")}


def grown(rig: Rig, count: int) -> None:
    """Somebody commits directly to what is there."""
    table = rig.table()
    for number in range(count):
        assert isinstance(table.append([add_file(f"direct{number}-{table.version}")]), Committed)


@INTERVALS
@pytest.mark.parametrize(("count", "seconds"), [(3, 2), (4, 0), (4, 2), (7, 0)])
def test_nothing_is_remembered_of_what_an_older_copy_lacks_that_others_have_grown(
    interval: int, seconds: int, count: int
) -> None:
    """Break: go on from the known versions where the copy has reached their numbers. What the table lacks is told to be in it."""
    rig, committer, _ = played(interval)
    rig.ambient.time_ms += 1000 * seconds - 2_000
    grown(rig, count)
    rig.append("f6")
    rig.settle(committer)
    for number in range(1, 6):
        rig.append(f"f{number}", writer=Writer("w", number), proposal_id=f"P{number}")
        rig.settle(committer)
    told = {identity: receipt for identity, receipt in rig.receipts().items() if identity.startswith("P")}
    assert told == {f"P{number}": Duplicate(number, f"P{number}") for number in (1, 2)} | {
        f"P{number}": Committed(count + number + 1, f"P{number}") for number in (3, 4, 5)
    }
    assert {add_file(f"f{number}").path for number in range(1, 7)} <= set(rig.table().snapshot().paths())
    assert rig.table().verify(data_files=False).findings == ()


def test_a_commit_in_the_second_in_which_others_have_reached_the_known_version_is_told_to_nobody() -> None:
    """It names another predecessor than the one that is there. Readers name it, and say what to do."""
    rig, committer, _ = played(100)
    rig.ambient.time_ms -= 2_000
    grown(rig, 3)
    rig.append("f3", writer=Writer("w", 3), proposal_id="P3")
    rig.append("f6", proposal_id="P6")
    committer.step(0.0)
    assert rig.receipts() == {}
    with pytest.raises(CorruptTable, match=r"an older copy of the table.*move it and later ones away"):
        rig.table().snapshot()


def test_a_state_under_way_is_not_written_over_an_older_copy() -> None:
    """Break: write it without looking whether its version is still there. It makes that version the newest of the copy."""
    rig, background = Rig(interval=4), ByHand()
    rig.create_first()
    committer = rig.committer(background=background)
    rig.append("f1")
    rig.settle(committer)
    copy = copied(rig.stores[TABLE])
    for number in range(2, 5):
        rig.append(f"f{number}")
        rig.settle(committer)
    assert background.waiting
    put_back(rig.stores[TABLE], copy)
    background.let_go()
    assert (rig.table().version, [info.key for info in rig.stores[TABLE].list() if "state-v" in info.key]) == (1, [])


def test_who_reads_a_version_upon_a_gap_is_told_both_ways_out() -> None:
    """A commit within the second in which the copy was put back."""
    rig = Rig()
    rig.settle(rig.committer())
    rig.stores[TABLE].put(version_key(6), encode_actions(adds("f6")))
    with pytest.raises(CorruptTable, match=r"an older copy of the table.*move the version files above the gap"):
        rig.table().snapshot()
    advice = [each.advice for each in rig.table().verify(data_files=False).findings if "a gap" in each.what]
    assert any("an older copy" in each for each in advice)
