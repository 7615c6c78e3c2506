"""Swaps of manifests where a path is listed more than once, as other writers leave it."""

import pyarrow as pa

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.operations import Committed, CompactState, NewManifest, Rejected
from headgate_table.indextables.format.entries import ALL_COLUMNS, added_table
from headgate_table.indextables.format.names import POINTER, state_key
from headgate_table.indextables.format.pointer import format_pointer, state_pointer
from headgate_table.indextables.format.replay import AddedFile
from headgate_table.indextables.format.state_manifest import StateManifest, encode_state
from headgate_table.indextables.rules.swap import manifest_info
from headgate_table.indextables.write.manifest_writer import write_manifest
from headgate_table.table import Table
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, add_file, files, new_table, opened


class _Hand:
    """A table whose newest state, number 1, is put together by hand."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self._table = new_table(self.store)
        self._ambient = SteadyAmbient("by hand")

    def manifest(self, *adds: AddFile) -> NewManifest:
        entries: pa.Table = added_table([AddedFile(add, 1, 1) for add in adds], ALL_COLUMNS)
        return write_manifest(self.store, self._ambient, self._table.options, entries, self._table.metadata)

    def state(self, *manifests: NewManifest, tombstones: tuple[str, ...], num_files: int) -> Table:
        infos = tuple(map(manifest_info, manifests))
        state = StateManifest(1, 5, num_files, 1000 * num_files, infos, tombstones, metadata=self._table.metadata)
        self.store.put(state_key(1), encode_state(state, bytes(16)))
        self.store.put(POINTER, format_pointer(state_pointer(1, num_files, 1000 * num_files, 5)))
        return opened(self.store, settings={"indextables.state.entriesPerManifest": "100"})


def test_a_swap_that_would_bring_a_removed_path_back_is_refused() -> None:
    """Break: `swap_difference` looks at the replaced manifests only."""
    hand = _Hand()
    first = hand.manifest(add_file("gone"), add_file("a"))
    second = hand.manifest(add_file("gone"), add_file("b"))
    table = hand.state(first, second, tombstones=("gone.parquet",), num_files=2)
    swap = CompactState(
        base=1,
        removes=(first.path,),
        adds=(hand.manifest(add_file("a")),),
        tombstones=("gone.parquet",),
    )
    receipt = table.commit(swap)
    assert isinstance(receipt, Rejected)
    assert "gone.parquet" in receipt.reason
    assert opened(hand.store).snapshot().paths() == ["a.parquet", "b.parquet"]


def test_a_selective_compaction_keeps_the_later_of_two_entries_of_a_live_path() -> None:
    """Break: `Compactor.plan` looks for repeated paths among the tombstones only."""
    hand = _Hand()
    dead = files("dead", 8)
    first = hand.manifest(add_file("twice", 1), *files("kept", 50))
    second = hand.manifest(add_file("twice", 2), *dead)
    table = hand.state(first, second, tombstones=tuple(file.path for file in dead), num_files=51)
    assert isinstance(table.compact(full=False), Committed)
    found = opened(hand.store).snapshot().files(("path", "size")).to_pylist()
    assert [row["size"] for row in found if row["path"] == "twice.parquet"] == [2]
