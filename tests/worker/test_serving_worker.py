"""A worker as a process is composed: a bus file, folders as tables, threads, and a real committer beside it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from headgate_bus.interface import Bus
from headgate_bus.open import open_bus
from headgate_producer.producer import Producer
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Append, Committed
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.limits import WorkerLimits
from headgate_worker.serving import ROLES, serving
from headgate_worker.tables import ProposedTables, Proposing
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.committing.threaded import a_committer
from support.processes.threads import in_a_thread
from support.processes.waiting import wait_until
from support.tables import COLUMNS, add_file, fresh_resources
from support.working import quick_terms

AMBIENT = SystemAmbient()
STORES = StoreSettings(local_durable=False)
PATIENCE_S = 60.0
EVERY_VERSION = {"checkpoint.interval": "1"}


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/bus.db"


@pytest.fixture
def bus(address: str) -> Iterator[Bus]:
    with closing(open_bus(address, AMBIENT)) as opened:
        opened.prepare()
        yield opened


@pytest.fixture
def table(tmp_path: Path) -> str:
    uri = str(tmp_path / "lake" / "sales")
    Table.create(uri, COLUMNS, configuration=EVERY_VERSION, storage=STORES)
    return uri


@contextmanager
def working(address: str) -> Iterator[None]:
    """A worker in a thread of its own, until the end of the block."""
    # The state that is to be compacted is written beside the commits; whoever looks too early looks again.
    limits = WorkerLimits(terms=quick_terms("compact"), sweep_ms=200)
    with (
        closing(open_bus(address, AMBIENT)) as opened,
        serving(opened, STORES, AMBIENT, limits, roles=("compact",)) as worker,
        in_a_thread(worker.run, "worker"),
    ):
        yield


def operations(uri: str) -> list[str]:
    return [entry.operation for entry in Table.open(uri, STORES, resources=fresh_resources()).history()]


def state_of(uri: str) -> int | None:
    """The version of its newest state."""
    state = Table.open(uri, STORES, resources=fresh_resources()).reader.latest().state
    return None if state is None else state.version


def test_a_table_is_compacted_of_its_own_accord(address: str, bus: Bus, table: str) -> None:
    with a_committer(address), working(address):
        with Producer(bus, table, storage=STORES) as producer:
            for number in range(10):
                producer.append([add_file(f"f{number}")]).wait(PATIENCE_S)
            # Else nothing is dead: the first state would be without the removed ones.
            wait_until(lambda: state_of(table) == 10, "every version has its state")
            receipt = producer.delete(paths=[f"f{number}.parquet" for number in range(5)]).wait(PATIENCE_S)
            assert isinstance(receipt, Committed)
        wait_until(lambda: "CompactState" in operations(table), "the table is compacted")
    assert sorted(Table.open(table, STORES).snapshot().paths()) == [f"f{number}.parquet" for number in range(5, 10)]


def test_tables_outside_of_the_roots_are_left_alone(tmp_path: Path) -> None:
    memory = MemoryBus(FakeAmbient())
    proposing = Proposing(memory, STORES, AMBIENT, "test", 1, 1.0)
    tables = ProposedTables(STORES, fresh_resources(), AMBIENT, proposing, [str(tmp_path / "lake")])
    inside, beside = tmp_path / "lake" / "t", tmp_path / "lake2" / "t"
    assert [tables.serves(str(uri)) for uri in (inside, beside, tmp_path / "lake")] == [True, False, True]


def test_an_address_in_another_spelling_is_not_served(tmp_path: Path) -> None:
    proposing = Proposing(MemoryBus(FakeAmbient()), STORES, AMBIENT, "test", 1, 1.0)
    tables = ProposedTables(STORES, fresh_resources(), AMBIENT, proposing)
    assert not tables.serves(f"{tmp_path}/lake/../lake/t")
    assert not tables.serves("")


def test_no_more_producers_are_kept_than_allowed(address: str, bus: Bus, tmp_path: Path) -> None:
    uris = [str(tmp_path / name) for name in ("a", "b", "c")]
    proposing = Proposing(bus, STORES, AMBIENT, "test", 2, PATIENCE_S)
    with a_committer(address), closing(proposing):
        for uri in uris:
            Table.create(uri, COLUMNS, storage=STORES)
            receipt = proposing.to(uri)(Append((add_file("f"),)))
            assert isinstance(receipt, Committed)
        assert list(proposing._idle) == uris[1:]


def test_a_role_that_nobody_knows_is_refused(bus: Bus) -> None:
    with pytest.raises(InvalidInput, match="known are compact"), serving(bus, STORES, AMBIENT, roles=("sweep",)):
        pass


def test_a_worker_without_roles_is_refused(bus: Bus) -> None:
    with pytest.raises(InvalidInput, match="needs a role"), serving(bus, STORES, AMBIENT, roles=()):
        pass


def test_a_worker_has_every_role_unless_told_otherwise(bus: Bus) -> None:
    with serving(bus, STORES, AMBIENT) as worker:
        assert set(worker._roles) == ROLES.keys()
