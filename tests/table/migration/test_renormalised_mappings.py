"""Document mappings under canonical hashes, after every entry was written anew (docs/format.md, section 4)."""

import json
from collections.abc import Sequence

import pytest

from headgate_schemas.actions.doc_mapping import mapping_hash
from headgate_schemas.messages.operations import Committed, Receipt
from headgate_table.table import Table
from support.logs.foreign_log import build_on
from support.logs.raw_log import RawLog
from support.stores import MemoryStore
from support.tables import add_file, opened
from support.writers.handmade import HandMade, add, file, metadata, protocol

# Two texts of one mapping, and five others; all under names that a writer with another hash gave them.
TEXTS = ['{"b":1,"a":2}', '{"a":2, "b":1}', *(f'{{"c":{number}}}' for number in range(5))]
OLD = {f"old-name-{number:07d}": text for number, text in enumerate(TEXTS)}
CANONICAL = {mapping_hash(text) for text in TEXTS}


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def with_states(names: Sequence[str], *, more: int = 0) -> Table:
    """A foreign state with two manifests, whose files refer to mappings by these names, and a removed file."""
    rows = [{**file(f"f{number}"), "docMappingRef": name} for number, name in enumerate(names)]
    half = len(rows) // 2

    def build(made: HandMade) -> None:
        infos = [made.manifest(rows[:half]), made.manifest([*rows[half:], file("gone")])]
        made.state(1, infos, tombstones=["gone.parquet"], schemaRegistry=OLD, meta=metadata("m"))
        made.pointer(1)

    return opened(build_on(MemoryStore(), build), interval=1)


def refs(table: Table, version: int) -> dict[str, str]:
    return {path: entry["docMappingRef"] for path, entry in RawLog(table.store).live(version).items()}


def mappings(table: Table) -> dict[str, object]:
    """What a new process finds for each file, as JSON values."""
    rows = opened(table.store).snapshot().files(["path", "doc_mapping_json"]).to_pylist()
    return {
        row["path"]: None if row["doc_mapping_json"] is None else json.loads(row["doc_mapping_json"]) for row in rows
    }


EXPECTED = {f"f{number}.parquet": json.loads(text) for number, text in enumerate(TEXTS)}


def test_a_full_compaction_renames_references_to_canonical_hashes() -> None:
    """Break: `Compactor.prepare` doesn't call `renormalise_entries`; or hands no mappings on."""
    table = with_states(list(OLD))
    version = committed(table.compact())
    found = refs(table, version)
    assert set(found.values()) == CANONICAL
    assert found["f0.parquet"] == found["f1.parquet"]
    registry = RawLog(table.store).state(version)["schemaRegistry"]
    assert set(registry) >= CANONICAL
    assert mappings(table) == EXPECTED


def test_the_new_names_are_in_the_version_file_of_the_compaction() -> None:
    """Whoever replays version files needs them, too. Break: `_prepare` writes no metadata for a swap."""
    table = with_states(list(OLD))
    version = committed(table.compact())
    configuration = RawLog(table.store).action(version, "metaData")["configuration"]
    assert {f"docMappingSchema.{name}" for name in CANONICAL} <= set(configuration)


def test_old_names_stay_known_for_versions_that_use_them() -> None:
    """Break: the registry is replaced by the renamed one, which an append of meanwhile doesn't know."""
    table = with_states(list(OLD))
    version = committed(table.compact())
    assert set(RawLog(table.store).state(version)["schemaRegistry"]) >= set(OLD)
    name = next(iter(OLD))
    table.append([add_file("late", doc_mapping_ref=name)])
    assert mappings(table)["late.parquet"] == json.loads(OLD[name])
    earlier = opened(table.store).snapshot(version=1).files(["doc_mapping_json"])
    assert earlier.column("doc_mapping_json").null_count == 0


@pytest.mark.parametrize("count", [4, 5])
def test_nothing_is_renamed_up_to_the_threshold(count: int) -> None:
    """5, by default. Break: `prepare` doesn't hand the threshold on and 0 is taken."""
    names = list(OLD)[:count]
    table = with_states(names)
    version = committed(table.compact())
    assert set(refs(table, version).values()) == set(names)
    assert not any("metaData" in line for line in RawLog(table.store).actions(version))


def test_a_partial_compaction_renames_nothing() -> None:
    """Break: `prepare` renames whatever it rewrites, so that one mapping has two names in one state."""
    table = with_states(list(OLD))
    many = [add_file(f"m{number:03d}") for number in range(30)]
    small = opened(table.store, interval=1, settings={"state.entriesPerManifest": "30"})
    small.append(many)
    for number in range(21):
        small.append([add_file(f"s{number}")])
    version = committed(small.compact(full=False))
    carried = [info for info in RawLog(table.store).state(version)["manifests"] if info["numEntries"] == 30]
    assert len(carried) >= 1
    assert {name for name in refs(small, version).values() if name} == set(OLD)


def test_the_first_state_of_a_json_table_renames_too() -> None:
    """Break: `StateWriter._plan` doesn't call `renormalise_entries` where there is no base; or `with_registry` is skipped."""

    def build(made: HandMade) -> None:
        configuration = {f"docMappingSchema.{name}": text for name, text in OLD.items()}
        made.version(0, protocol(3, 3), metadata("m", configuration=configuration))
        lines = [add(file(f"f{number}"), docMappingRef=name) for number, name in enumerate(OLD)]
        made.version(1, *lines)

    table = opened(build_on(MemoryStore(), build))
    version = table.checkpoint()
    assert set(refs(table, version).values()) == CANONICAL
    configuration = json.loads(RawLog(table.store).state(version)["metadata"])["metaData"]["configuration"]
    assert {f"docMappingSchema.{name}" for name in CANONICAL} <= set(configuration)
    assert mappings(table) == EXPECTED
    table.append([add_file("late", doc_mapping_json=TEXTS[1])])
    assert not any("metaData" in line for line in RawLog(table.store).actions(version + 1))


def test_a_reference_that_no_registry_knows_keeps_its_name() -> None:
    """Break: `renormalise` makes a name for it."""
    table = with_states([*OLD, "unknown"])
    version = committed(table.compact())
    assert refs(table, version)[f"f{len(OLD)}.parquet"] == "unknown"
