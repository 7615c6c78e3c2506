"""An older copy of a table that takes its place, and that others then grow past what a process knows: whoever holds the table open
reads and commits upon what is there, and remembers nothing of what is gone.
"""

import pytest

from headgate_schemas.messages.operations import Append, Committed
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.stores.memory import MemoryStore
from support.tables import add_file, new_table, opened

COPIED, KNOWN = 2, 5


def _put_back(store: Store, copy: dict[str, bytes]) -> None:
    """What the copy lacks is deleted. What is the same stays as it is, as by `rsync --delete`."""
    store.delete([info.key for info in store.list() if info.key not in copy])
    for key, data in copy.items():
        if store.get(key) != data:
            store.put(key, data)


def _played(interval: int, grown_to: int) -> tuple[Store, Table]:
    """A table that knows versions up to 5, of which a copy that ends at 2 and others' versions have taken the place."""
    ambient = FakeAmbient()
    store = MemoryStore(ambient)
    held = new_table(store, interval=interval, ambient=ambient)
    copy: dict[str, bytes] = {}
    for number in range(1, KNOWN + 1):
        held.commit(Append((add_file(f"f{number}"),)))
        if number == COPIED:
            copy = {info.key: store.get(info.key) for info in store.list()}
    _put_back(store, copy)
    other = opened(store, interval=interval)
    for number in range(COPIED + 1, grown_to + 1):
        other.append([add_file(f"other{number}")])
    return store, held


@pytest.mark.parametrize("interval", [2, 100])
@pytest.mark.parametrize("grown_to", [KNOWN - 1, KNOWN, KNOWN + 1, KNOWN + 3])
def test_whoever_holds_the_table_reads_what_is_there(interval: int, grown_to: int) -> None:
    """Break: take later versions for a continuation of those that were known."""
    store, held = _played(interval, grown_to)
    assert held.version == grown_to
    assert held.snapshot().paths() == opened(store).snapshot().paths()


@pytest.mark.parametrize("interval", [2, 100])
@pytest.mark.parametrize("grown_to", [KNOWN - 1, KNOWN, KNOWN + 1, KNOWN + 3])
@pytest.mark.parametrize("looks", [False, True])
def test_whoever_holds_the_table_commits_what_it_lacks_now(interval: int, grown_to: int, *, looks: bool) -> None:
    """Break: keep what was remembered of the versions that are gone. Files of theirs are refused as if they were live."""
    store, held = _played(interval, grown_to)
    if looks:
        held.snapshot()
    receipt = held.append([add_file(f"f{KNOWN}")])
    assert isinstance(receipt, Committed)
    assert receipt.version == grown_to + 1
    assert add_file(f"f{KNOWN}").path in opened(store).snapshot().paths()
    assert opened(store).verify(data_files=False).findings == ()


@pytest.mark.parametrize("grown_to", [KNOWN, KNOWN + 2])
def test_an_id_of_a_version_that_is_gone_is_committed_anew(grown_to: int) -> None:
    ambient = FakeAmbient()
    store = MemoryStore(ambient)
    held = new_table(store, ambient=ambient)
    copy = {info.key: store.get(info.key) for info in store.list()}
    commit = held._log("").committer.commit  # with an id of the caller's
    made_ms = ambient.now_ms()
    assert commit(Append((add_file("a"),)), "P", created_ms=made_ms) == Committed(1, "P")
    for number in range(2, KNOWN + 1):
        held.append([add_file(f"f{number}")])
    _put_back(store, copy)
    for number in range(1, grown_to + 1):
        opened(store).append([add_file(f"other{number}")])
    assert commit(Append((add_file("a"),)), "P", created_ms=made_ms) == Committed(grown_to + 1, "P")
