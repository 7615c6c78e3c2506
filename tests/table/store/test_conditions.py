"""Writers of every kind, on a store that ignores the condition of a create: none is told that it committed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headgate_schemas.messages.operations import Committed
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile
from headgate_table.errors import StoreError
from headgate_table.indextables.format.names import version_key
from headgate_table.milvus.transaction import Transaction
from headgate_table.store import conditions
from headgate_table.store.conditions import PROBE_KEY, TrustedServers, require_conditions
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome
from support.committing.rig import TABLE, Rig
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.memory import MemoryStore
from support.tables import add_file, new_table, opened


class Served(MemoryStore):
    """Behind a server, of which nobody knows yet what it does."""

    @property
    def server(self) -> str | None:
        return f"server of {id(self)}"


class Ignores(Served):
    def create(self, key: str, data: bytes) -> CreateOutcome:
        self.put(key, data)
        return Created(self.get_with_etag(key)[1])


class OverwritesAndDenies(Served):
    def create(self, key: str, data: bytes) -> CreateOutcome:
        there = self.head(key) is not None
        self.put(key, data)
        return AlreadyExists() if there else Created(self.get_with_etag(key)[1])


@pytest.fixture(autouse=True)
def _fresh_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "TRUSTED", TrustedServers())


BAD = pytest.mark.parametrize("kind", [Ignores, OverwritesAndDenies])


def a_table_on(kind: type[Served]) -> Served:
    """Made while the store was another one."""
    good, bad = MemoryStore(), kind()
    new_table(good)
    for info in good.list():
        bad.put(info.key, good.get(info.key))
    return bad


@BAD
def test_parallel_appends_are_all_refused(kind: type[Served]) -> None:
    store = a_table_on(kind)

    def append(number: int) -> str:
        with pytest.raises(StoreError, match=r"ignores If-None-Match.*Nothing was committed") as refused:
            opened(store).append([add_file(f"f{number}")])
        return str(refused.value)

    with ThreadPoolExecutor(8) as threads:
        assert all("can't be trusted with commits" in text for text in threads.map(append, range(8)))
    assert store.head(version_key(1)) is None


@BAD
def test_no_table_is_made_there(kind: type[Served]) -> None:
    store = kind()
    with pytest.raises(StoreError, match="ignores If-None-Match"):
        new_table(store)
    assert [info.key for info in store.list()] == [PROBE_KEY]


@BAD
def test_no_milvus_manifest_is_committed_there(kind: type[Served]) -> None:
    store = kind()
    group = ColumnGroup(("id",), (ColumnGroupFile("a.parquet", 0, 10),), "parquet")
    with pytest.raises(StoreError, match="ignores If-None-Match"), Transaction.open(store) as transaction:
        transaction.append_files([group]).commit()
    assert [info.key for info in store.list()] == [PROBE_KEY]


@BAD
def test_a_committer_of_any_root_writes_no_version_there(kind: type[Served]) -> None:
    """Roots are probed when a committer starts; without roots, or below one that leads to another server, nobody has asked."""
    rig = Rig()
    committer = rig.committer(stores={TABLE: kind()})
    for _ in range(5):
        committer.step(0.0)
    assert rig.receipts() == {}


def test_a_process_asks_each_server_once() -> None:
    store = FaultyStore(Served())
    table = new_table(store)
    asked = store.count()
    trusted = TrustedServers()
    for unique in ("a", "b", "c"):
        require_conditions(store, unique.upper, trusted)
    assert store.count() - asked == 3
    before = len(store.steps)
    for number in range(3):
        assert isinstance(table.append([add_file(f"f{number}")]), Committed)
    assert PROBE_KEY not in [step.key for step in store.steps[before:]]


def test_the_first_who_ever_asks_needs_four_requests() -> None:
    store = FaultyStore(Served())
    require_conditions(store, lambda: "a", TrustedServers())
    assert [step.operation for step in store.steps] == ["get", "create", "create", "get"]


class AskedByOthersToo(OverwritesAndDenies):
    """Another process asks the same right after each question."""

    def create(self, key: str, data: bytes) -> CreateOutcome:
        answer = super().create(key, data)
        super().create(key, b"of another process")
        return answer


@pytest.mark.parametrize("was_asked_before", [True, False])
def test_what_another_process_overwrites_meanwhile_counts_as_well(was_asked_before: bool) -> None:
    """Break: look only for what this process wrote."""
    store = AskedByOthersToo()
    if was_asked_before:
        store.put(PROBE_KEY, b"long ago")
    with pytest.raises(StoreError, match="ignores If-None-Match"):
        require_conditions(store, lambda: "a", TrustedServers())


def test_who_asks_at_the_same_time_as_others_for_the_first_time_trusts_a_server_that_keeps_conditions() -> None:
    class First(Served):
        """Another process is the first after all."""

        def create(self, key: str, data: bytes) -> CreateOutcome:
            super().create(key, b"of another process")
            return super().create(key, data)

    trusted, store = TrustedServers(), First()
    require_conditions(store, lambda: "a", trusted)
    assert str(store.server) in trusted


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_an_answer_that_is_lost_is_no_verdict(fault: Fault) -> None:
    for kind in (Ignores, OverwritesAndDenies):
        with pytest.raises(StoreError):
            require_conditions(FaultyStore(kind(), on("create", fault)), lambda: "a", TrustedServers())
    require_conditions(FaultyStore(Served(), on("create", fault)), lambda: "a", TrustedServers())


def test_a_store_that_never_answers_is_an_error_and_nothing_is_written() -> None:
    store = FaultyStore(a_table_on(Served), on("create", Fault.LOST_REQUEST, times=100))
    with pytest.raises(StoreError, match="could not be asked whether it can be trusted"):
        opened(store).append([add_file("a")])


def test_a_local_disk_is_not_asked(tmp_path: Path) -> None:
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.store.local.store import LocalStore

    store = FaultyStore(LocalStore(str(tmp_path), SystemAmbient()))
    require_conditions(store, lambda: "a", TrustedServers())
    assert store.count() == 0
