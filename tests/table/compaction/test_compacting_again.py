"""`Table.compact` beside others: it plans again where they were faster, and where what it wrote has waited for too long."""

from headgate_schemas.messages.operations import Committed, CompactState, Operation, Receipt, RejectCode, Rejected
from headgate_table.indextables.compaction.compacting import MAX_PLANS
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.rules.swap import MAX_UNPROPOSED_MS
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.stores import MemoryStore
from support.tables import SteadyAmbient, files, fresh_resources, new_table, opened


def committed(receipt: Receipt) -> None:
    assert isinstance(receipt, Committed), receipt


def state_of(store: Store) -> StateManifest:
    state = opened(store).snapshot().log.state
    assert state is not None
    return state


class Overtaken:
    """A table where somebody compacts between the plan of a compaction and its commit, and leaves a tombstone behind."""

    def __init__(self, *, times: int) -> None:
        self.store = MemoryStore()
        self.proposed: list[Operation] = []
        self._times = times
        table = new_table(self.store, interval=1)
        committed(table.append(files("f", 30)))
        committed(table.delete(paths=[file.path for file in files("f", 10)]))
        settings = {"checkpoint.interval": "1"}
        self.slow = Table(self.store, SteadyAmbient("slow"), fresh_resources(), settings, self._commit)

    def _commit(self, operation: Operation) -> Receipt:
        self.proposed.append(operation)
        other = opened(self.store, interval=1)
        if len(self.proposed) <= self._times:
            committed(other.compact())
            committed(other.delete(paths=[files("f", 30)[10 + len(self.proposed)].path]))
        return other.commit(operation)


def test_a_compaction_that_others_were_faster_than_is_planned_again() -> None:
    """Break: `compact` hands the first refusal back."""
    world = Overtaken(times=1)
    committed(world.slow.compact())
    assert len(world.proposed) == 2
    assert (state_of(world.store).tombstones, state_of(world.store).num_files) == ((), 19)


def test_a_compaction_that_others_are_always_faster_than_is_refused() -> None:
    """Break: `compact` plans without an end."""
    world = Overtaken(times=10)
    receipt = world.slow.compact()
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.BASE_GONE
    assert len(world.proposed) == MAX_PLANS


def test_manifests_that_waited_too_long_for_their_commit_are_written_again() -> None:
    """A cleaner that began before may have deleted them. Break: `_attempt` doesn't say when it looked."""
    ambient = FakeAmbient()
    store = MemoryStore(ambient)
    table = new_table(store, interval=1, ambient=ambient)
    committed(table.append(files("f", 30)))
    committed(table.delete(paths=[file.path for file in files("f", 10)]))
    proposed: list[CompactState] = []

    def commit(operation: Operation) -> Receipt:
        assert isinstance(operation, CompactState)
        proposed.append(operation)
        if len(proposed) == 1:
            ambient.advance(seconds=MAX_UNPROPOSED_MS / 1000 + 1)
        return opened(store, interval=1, ambient=ambient).commit(operation)

    committed(Table(store, ambient, fresh_resources(), {"checkpoint.interval": "1"}, commit).compact())
    late, again = ({manifest.path for manifest in swap.adds} for swap in proposed)
    assert {manifest.path for manifest in state_of(store).manifests} == again
    assert again.isdisjoint(late)
