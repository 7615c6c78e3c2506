"""What compaction gets wrong in other implementations: the same history with theirs and with ours.

Theirs is played by `support.writers`, which does what was seen when they were executed (docs/format.md, sections 5, 6, 14).
Each test first shows the fault there, so that it would find the same fault here.
"""

from pathlib import Path

import pytest

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.operations import Committed, Receipt
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.table import Table
from support.logs.foreign_log import build_on, copy_to
from support.logs.profile_check import breaches
from support.logs.raw_log import RawLog
from support.stores import MemoryStore
from support.tables import add_file, new_table, opened
from support.writers.handmade import HandMade, add, file, remove
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH
from support.writers.rust import RustTable
from support.writers.scala import ScalaTable


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def state_of(table: Table) -> StateManifest:
    state = table.snapshot().log.state
    assert state is not None
    return state


def adopted(root: Path, **settings: str) -> Table:
    store = MemoryStore()
    copy_to(store, root)
    chosen = {key.replace("__", "."): text for key, text in settings.items()}
    return opened(store, interval=1, settings=chosen)


def two_days(table: Table) -> tuple[list[AddFile], list[AddFile]]:
    """Twenty files of a day that lose one, and four of another that lose three."""
    kept = [add_file(f"kept-{number:02d}", date="2024-01-01") for number in range(20)]
    dirty = [add_file(f"dirty-{number}", date="2024-01-02") for number in range(4)]
    table.append(kept)
    table.append(dirty)
    table.delete(paths=[kept[0].path, *(each.path for each in dirty[:3])])
    return kept, dirty


def test_a_selective_compaction_brings_no_removed_file_back(tmp_path: Path) -> None:
    """Break: `survey` notes every tombstone as settled, also those whose entry is in a manifest that stays."""
    theirs = ScalaTable(tmp_path, partition_columns=("date",))
    old, dirty = theirs.append(20, date="2024-01-01"), theirs.append(4, date="2024-01-02")
    theirs.remove([old[0], *dirty[:3]])
    assert old[0]["path"] in theirs.expected().paths

    table = new_table(None, "date", interval=1, settings={"state.entriesPerManifest": "20"})
    kept, changed = two_days(table)
    carried = state_of(table).manifests[0].path
    committed(table.compact(full=False))
    state = state_of(table)
    assert carried in [info.path for info in state.manifests]
    assert state.tombstones == (kept[0].path,)
    assert table.snapshot().paths() == sorted([*(each.path for each in kept[1:]), changed[3].path])
    assert breaches(table.store) == []


def test_the_size_of_a_compacted_state_is_no_estimate(tmp_path: Path) -> None:
    """Break: `apply_swap` carries `total_bytes` when all is new."""
    theirs = ScalaTable(tmp_path, partition_columns=("date",))
    old, dirty = theirs.append(20, date="2024-01-01"), theirs.append(4, date="2024-01-02")
    theirs.remove([old[0], *dirty[:3]])
    assert theirs.base is not None
    assert theirs.base.total_bytes != sum(each["size"] for each in theirs.base.live())

    table = adopted(tmp_path)
    committed(table.compact())
    table.append([add_file("ours", date="2024-01-01")])
    table.delete(paths=["date=2024-01-01/ours.parquet"])
    committed(table.compact())
    state = state_of(table)
    assert state.total_bytes == sum(table.snapshot().files(["size"]).column("size").to_pylist())


def re_added(made: HandMade) -> None:
    """A state that lists `back`, and two versions that remove it and add it again, larger."""
    made.state(1, [made.manifest([file("back", 1), *(file(f"f{n}") for n in range(30))])])
    made.pointer(1)
    made.version(1, {"txn": {}})
    made.version(2, remove("back.parquet"))
    made.version(3, add(file("back", 2)))


def test_a_path_that_was_added_again_survives_compaction_as_its_new_file(tmp_path: Path) -> None:
    """Break: `_leave_repeats_out` keeps the first of several entries; or `_without` in `state_writer` keeps the tombstone."""
    theirs = ScalaTable(tmp_path)
    (gone, *_) = theirs.append(30)
    theirs.remove([gone])
    theirs.commit([{**gone, "size": 2}])
    assert gone["path"] not in theirs.expected().paths  # hidden, though it was added last

    table = opened(build_on(MemoryStore(), re_added), interval=1)
    for compact in (table.checkpoint, table.compact):
        compact()
        rows = opened(table.store).snapshot().files(["path", "size"]).to_pylist()
        assert [row["size"] for row in rows if row["path"] == "back.parquet"] == [2]
        assert len(rows) == 31
    assert breaches(table.store, since=2) == []


def test_the_22nd_append_compacts_nothing_and_the_21st_makes_it_due(tmp_path: Path) -> None:
    """Break: `_allowed_manifests` allows one more; or a commit compacts by itself, and an append waits for all entries."""
    theirs = ScalaTable(tmp_path)
    for _ in range(21):
        theirs.append(1)
    assert theirs.base is not None
    assert len(theirs.base.manifests) == 21  # more than allowed, and nothing is done about it
    theirs.append(1)
    assert len(theirs.base.manifests) == 1  # by the append, which had to rewrite everything

    table = new_table(interval=1)
    due = []
    for number in range(22):
        table.append([add_file(f"f{number}")])
        due.append(table.describe().needs_compaction)
    assert due == [False] * 20 + [True] * 2
    assert len(state_of(table).manifests) == 22
    committed(table.compact(full=False))
    assert len(state_of(table).manifests) == 1


def test_a_compaction_that_is_asked_for_happens_though_the_version_has_a_state(tmp_path: Path) -> None:
    """Break: `compact` returns when the newest version has a state, as `checkpoint` rightly does."""
    theirs = RustTable(tmp_path)
    files = theirs.append(40)
    theirs.commit((), files[:3])
    # Their command writes the state of the newest version, which is there: what is there is returned.
    assert theirs.state_version == theirs.version
    assert theirs.tombstones != []

    table = adopted(tmp_path)
    before = table.version
    assert table.checkpoint() == before
    version = committed(table.compact())
    assert version == before + 1
    assert RawLog(table.store).state(version)["tombstones"] == []
    assert table.snapshot().paths() == sorted(theirs.expected().paths)


def test_compaction_keeps_metadata_and_mappings_of_a_state_that_has_none_of_its_own(tmp_path: Path) -> None:
    """The Rust writer's loses both. Break: `_plan` passes the state's metadata on instead of the table's."""
    theirs = ScalaTable(tmp_path, partition_columns=("date",))
    theirs.append(5, date="2024-01-01")
    assert RawLog(adopted(tmp_path).store).state(1)["metadata"] is None

    table = adopted(tmp_path)
    table.append([add_file("ours", date="2024-01-02")])
    version = committed(table.compact())
    state = RawLog(table.store).state(version)
    assert state["schemaRegistry"] == {DOC_MAPPING_HASH: DOC_MAPPING}
    assert opened(table.store).metadata.partition_columns == ("date",)
    assert breaches(table.store, since=2) == []


def test_compaction_puts_no_mapping_into_entries(tmp_path: Path) -> None:
    """The Rust writer's does, and a state grows sevenfold. Break: `rename_refs` restores the texts."""
    ScalaTable(tmp_path).append(30)
    table = adopted(tmp_path)
    table.append([add_file("ours")])
    version = committed(table.compact())
    entries = RawLog(table.store).entries(version)
    assert all(entry.get("docMappingJson") is None for entry in entries)
    assert sum(entry["docMappingRef"] == DOC_MAPPING_HASH for entry in entries) == 30


@pytest.mark.parametrize("full", [True, False])
def test_a_damaged_version_is_not_left_out_of_a_compacted_state(full: bool) -> None:
    """The Rust writer's leaves it out, and its files are lost. Break: `latest` skips what can't be read."""
    table = new_table(interval=100)
    for number in range(3):
        table.append([add_file(f"f{number}")])
    table.store.put(version_key(2), b"\x01\x01 damaged")
    states = RawLog(table.store).states()
    with pytest.raises(CorruptTable):
        opened(table.store).compact(full=full)
    assert RawLog(table.store).states() == states


def test_removes_are_told_across_a_compaction() -> None:
    """In other implementations they are tombstones, which a compaction drops. Break: `changes` looks at tombstones."""
    table = new_table(interval=1)
    table.append([add_file(f"f{number}") for number in range(10)])
    table.delete(paths=["f0.parquet", "f1.parquet"])
    committed(table.compact())
    changes = opened(table.store).changes(1)
    assert sorted(changes.removed.column("path").to_pylist()) == ["f0.parquet", "f1.parquet"]
