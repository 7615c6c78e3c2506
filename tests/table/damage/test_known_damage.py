"""Damage that readers believed once: each is an error that names its object, for readers, `verify`, `repair` and cleaning."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import POINTER, checkpoint_key, log_key, state_key, version_key
from headgate_table.indextables.format.pointer import format_pointer, state_pointer
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.repair import RepairResult, repair_into
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, one_thread
from support.logs.foreign_log import as_anothers, build_on
from support.logs.raw_log import RawLog
from support.stores.memory import MemoryStore
from support.writers.handmade import HandMade, add, remove
from support.writers.handmade import file as foreign_file
from support.writers.log_folder import lines, rust_gzip, scala_compressed

PLAIN = {"transaction__compression__enabled": "false"}
ALL_OLD = {
    "purge.retentionCheckEnabled": "false",
    "purge.txLogRetentionHours": "0",
    "state.retention.hours": "0",
}

Damage = Callable[[bytes], bytes]


def world_of(interval: int = 100, **settings: str) -> World:
    world = World(interval=interval, store=None, **settings)
    first, *_ = world.appends(4)
    world.accepted(world.table.delete(paths=[first.path]))
    return world


def refused(store: Store, match: str) -> None:
    with pytest.raises(CorruptTable, match=match):
        opened(store).snapshot().paths()


def opened(store: Store) -> Table:
    return Table(store, FakeAmbient("reader"), one_thread())


def repaired(store: Store) -> RepairResult:
    return repair_into(LogReader(store, one_thread()), store, MemoryStore(FakeAmbient()))


def nothing_is_made_of_it(world: World, key: str, *, repair: str = "PARTIAL_SUCCESS") -> None:
    """Readers, `verify`, `repair` and cleaning: nobody believes the object. Where others stand in for it, repair succeeds."""
    name = key.rpartition("/")[2]
    refused(world.store, name)
    findings = opened(world.store).verify()
    assert any(finding.object == key for finding in findings.findings)
    assert not findings.ok
    assert repaired(world.store).status == repair
    world.clock.advance(hours=24 * 400)
    before = {info.key for info in world.store.list()}
    with pytest.raises(CorruptTable, match=name):
        Table(world.store, world.clock, one_thread(), ALL_OLD).purge(older_than_hours=0)
    assert {info.key for info in world.store.list()} == before


@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\n", rust_gzip(b""), scala_compressed(b"\n")], ids=repr)
@pytest.mark.parametrize("version", [0, 2, 5])
def test_an_empty_version_file_is_no_commit_of_nothing(version: int, data: bytes) -> None:
    world = world_of()
    world.store.put(version_key(version), data)
    if version:
        nothing_is_made_of_it(world, version_key(version))
    else:
        refused(world.store, version_key(0).rpartition("/")[2])


def test_a_version_of_nothing_but_unknown_lines_still_counts() -> None:
    store = build_on(MemoryStore(), lambda made: made.version(1, {"txn": {}}))
    assert opened(store).snapshot().version == 1


@pytest.mark.parametrize("place", range(4))
def test_a_plain_version_file_that_lost_a_line_is_refused(place: int) -> None:
    """The first is the seal itself, which the `commitInfo` tells of."""
    world = World(interval=100, store=None, **PLAIN)
    world.append()
    a, b = world.write(), world.write()
    version = world.accepted(world.table.append([a, b]))
    text = world.store.get(version_key(version)).splitlines(keepends=True)
    assert len(text) == 4
    world.store.put(version_key(version), b"".join([*text[:place], *text[place + 1 :]]))
    nothing_is_made_of_it(world, version_key(version))


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_plain_version_file_that_ends_at_a_line_is_refused(kept: int) -> None:
    world = World(interval=100, store=None, **PLAIN)
    version = world.accepted(world.table.append([world.write(), world.write()]))
    text = world.store.get(version_key(version)).splitlines(keepends=True)
    world.store.put(version_key(version), b"".join(text[:kept]))
    nothing_is_made_of_it(world, version_key(version))


def test_what_repair_writes_can_lose_no_line_unnoticed() -> None:
    world = world_of()
    target = MemoryStore(FakeAmbient())
    repair_into(LogReader(world.store, one_thread()), world.store, target)
    whole = MemoryStore(FakeAmbient())
    for info in target.list():
        whole.put(log_key(info.key), target.get(info.key))
    assert len(opened(whole).snapshot().paths()) == 3
    text = whole.get(version_key(1)).splitlines(keepends=True)
    whole.put(version_key(1), b"".join(text[:-1]))
    refused(whole, "it holds 2 of 3 lines")


@pytest.mark.parametrize("settings", [{}, PLAIN], ids=["compressed", "plain"])
def test_version_files_that_changed_places_are_refused(settings: dict[str, str]) -> None:
    world = world_of(100, **settings)
    two, three = world.store.get(version_key(2)), world.store.get(version_key(3))
    world.store.put(version_key(2), three)
    world.store.put(version_key(3), two)
    refused(world.store, "written as version 3: files were mixed up")


@pytest.mark.parametrize("name", ["add", "remove"])
def test_an_action_of_another_writer_whose_name_lost_a_bit_is_refused(name: str) -> None:
    line = lines([add(foreign_file("a"))]) + lines([remove("b.parquet")])
    for place in range(len(name)):
        for bit in range(7):
            damaged = bytearray(name.encode())
            damaged[place] ^= 1 << bit
            if not 32 <= damaged[place] < 127 or damaged[place] in b'"\\':
                continue
            text = line.replace(b'"%s"' % name.encode(), b'"%s"' % bytes(damaged))
            store = build_on(MemoryStore(), lambda made, text=text: made.raw_version(1, text))  # type: ignore[misc]  # bound per turn
            refused(store, "the line is damaged")


@pytest.mark.parametrize("victim", [version_key(1), state_key(2), "manifest"])
def test_nothing_is_cleaned_while_an_older_part_of_the_log_is_damaged(victim: str) -> None:
    """The newest version reads well, and what is damaged may be needed to bring the rest back."""
    world = World(interval=2, store=None)
    world.appends(8)
    key = log_key(RawLog(world.store).state(2)["manifests"][0]["path"]) if victim == "manifest" else victim
    world.store.put(key, world.store.get(key)[:-20])
    world.store.put("orphan.parquet", bytes(10))
    world.clock.advance(hours=24 * 400)
    before = {info.key for info in world.store.list()}
    for dry_run in (True, False):
        report = Table(world.store, world.clock, one_thread(), ALL_OLD).purge(older_than_hours=0, dry_run=dry_run)
        assert (report.status, report.deletions) == ("DRY_RUN" if dry_run else "PARTIAL_SUCCESS", ())
        assert key.rpartition("/")[2] in report.message
    assert {info.key for info in world.store.list()} == before


@pytest.mark.parametrize("name", [b'"format"', b'"version"'])
def test_nothing_is_cleaned_while_the_pointer_is_damaged(name: bytes) -> None:
    world = World(interval=2, store=None)
    world.appends(8)
    data = world.store.get(POINTER)
    world.store.put(POINTER, data.replace(name, name[:2] + bytes([name[2] ^ 1]) + name[3:]))
    world.clock.advance(hours=24 * 400)
    before = {info.key for info in world.store.list()}
    report = Table(world.store, world.clock, one_thread(), ALL_OLD).purge(older_than_hours=0)
    assert (report.status, report.deletions) == ("PARTIAL_SUCCESS", ())
    assert "_last_checkpoint" in report.message
    assert {info.key for info in world.store.list()} == before


def _parts() -> World:
    return world_of(3, state__format="json", checkpoint__actionsPerPart="2")


def test_a_list_of_parts_whose_key_lost_a_bit_is_no_empty_table() -> None:
    world = _parts()
    key = checkpoint_key(3)
    data = world.store.get(key)
    assert b'"parts"' in data
    world.store.put(key, data.replace(b'"parts"', b'"qarts"'))
    refused(world.store, "holds no action of a table's log")
    nothing_is_made_of_it(world, key, repair="SUCCESS")


def test_a_foreign_version_without_metadata_is_no_checkpoint() -> None:
    def build(made: HandMade) -> None:
        made.version(1, add(foreign_file("a")))
        made.version(2, add(foreign_file("b")))
        made.log.put("00000000000000000002.checkpoint.json", lines([add(foreign_file("b"))]))

    refused(build_on(MemoryStore(), build), "holds no metadata")


@pytest.mark.parametrize("settings", [{}, PLAIN], ids=["compressed", "plain"])
@pytest.mark.parametrize("version", [2, 5])
def test_a_pointer_in_the_place_of_a_version_is_no_commit_of_nothing(version: int, settings: dict[str, str]) -> None:
    world = world_of(100, **settings)
    world.store.put(version_key(version), format_pointer(state_pointer(version, 3, 3_000, 0)))
    nothing_is_made_of_it(world, version_key(version))


def test_a_version_that_holds_the_metadata_is_no_checkpoint_that_empties_the_table() -> None:
    world = world_of(3, state__format="json")
    world.store.put(checkpoint_key(3), world.store.get(version_key(0)))
    refused(world.store, "written as version 0: files were mixed up")
    nothing_is_made_of_it(world, checkpoint_key(3), repair="SUCCESS")


@pytest.mark.parametrize("data", [b'{"commitInfo":{"operation":"WRITE"}}\n', b'{"txn":{"appId":"x"}}\n'], ids=repr)
def test_a_version_that_was_replaced_by_a_sound_one_of_others_is_missed(data: bytes) -> None:
    """The next version names the one after which it was written."""
    world = world_of()
    world.store.put(version_key(2), data)
    nothing_is_made_of_it(world, version_key(2))
    table = opened(world.store)
    with pytest.raises(CorruptTable, match=version_key(2)):
        table.snapshot(version=2)
    assert len(table.snapshot(version=1).paths()) == 1


def test_a_version_below_a_state_that_was_replaced_is_missed_where_it_is_read() -> None:
    world = world_of(3)
    for _ in range(2):
        world.append()
    data = world.store.get(version_key(4))
    world.store.put(version_key(4), lines([add(foreign_file("stranger"))]))
    table = opened(world.store)
    assert len(table.snapshot().paths()) == 5
    with pytest.raises(CorruptTable, match=version_key(4)):
        table.snapshot(version=4)
    assert version_key(4) in {finding.object for finding in table.verify().findings}
    world.clock.advance(hours=24 * 400)
    report = Table(world.store, world.clock, one_thread(), ALL_OLD).purge(older_than_hours=0)
    assert (report.status, report.deletions) == ("PARTIAL_SUCCESS", ())
    assert version_key(4) in report.message
    world.store.put(version_key(4), data)
    assert opened(world.store).verify().ok


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: {**body, "version": 2},
        lambda body: {**body, "parts": [*body["parts"][:-1], body["parts"][-1].replace(".00003.", ".00002.")]},
        lambda body: {**body, "parts": body["parts"][1:]},
        lambda body: {**body, "checkpointId": "0123456789ab"},
    ],
    ids=["version", "part twice", "lost part", "id"],
)
def test_a_list_of_parts_that_contradicts_itself_is_refused(damage: Callable[[dict[str, object]], object]) -> None:
    world = _parts()
    key = checkpoint_key(3)
    body = json.loads(world.store.get(key))
    world.store.put(key, json.dumps(damage(body)).encode())
    refused(world.store, key.rpartition("/")[2])


@pytest.mark.parametrize("settings", [{}, PLAIN], ids=["compressed", "plain"])
@pytest.mark.parametrize("data", [b"", b"\n", lines([add(foreign_file("a"))])], ids=["empty", "blank", "no metadata"])
def test_an_empty_checkpoint_is_no_empty_table(data: bytes, settings: dict[str, str]) -> None:
    world = world_of(3, state__format="json", **settings)
    world.store.put(checkpoint_key(3), data)
    nothing_is_made_of_it(world, checkpoint_key(3), repair="SUCCESS")


def test_checkpoints_that_changed_places_are_refused() -> None:
    world = world_of(2, state__format="json")
    world.store.put(checkpoint_key(4), world.store.get(checkpoint_key(2)))
    refused(world.store, "files were mixed up")


def test_no_bit_of_a_state_can_change_unnoticed() -> None:
    """All of the file: header, schema, codec, marker and record; with a tombstone, which a lost field would bring to life."""
    world = world_of(1, state__compression="none")
    key = state_key(5)
    data = world.store.get(key)
    assert decode_state(data, key).tombstones
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit >> 3] ^= 1 << (bit & 7)
        with pytest.raises(CorruptTable, match="_manifest"):
            decode_state(bytes(flipped), key)


def test_no_bit_of_the_seal_itself_can_change_unnoticed_whatever_the_digest() -> None:
    """A changed length makes one key of several; whether the rest still reads as keys and values is up to the digest's letters."""
    world = world_of(1, state__compression="none")
    key = state_key(5)
    state = decode_state(world.store.get(key), key)
    for number in range(250):
        data = encode_state(replace(state, created_at=number), bytes(16), codec="null")
        for place in range(data.index(b"avro.codec") - 1, data.index(bytes(16))):
            for bit in range(8):
                flipped = bytearray(data)
                flipped[place] ^= 1 << bit
                with pytest.raises(CorruptTable, match="_manifest"):
                    decode_state(bytes(flipped), key)


def test_a_field_of_another_writers_state_whose_name_lost_a_bit_is_refused() -> None:
    def build(made: HandMade) -> None:
        made.state(1, [made.manifest([foreign_file("a"), foreign_file("b")])], tombstones=["b.parquet"])
        made.pointer(1)

    store = build_on(MemoryStore(), build)
    assert opened(store).snapshot().paths() == ["a.parquet"]
    data = store.get(state_key(1))
    for name in (b'"tombstones"', b'"metadata"', b'"protocolVersion"', b'"schemaRegistry"', b'"partitionBounds"'):
        store.put(state_key(1), data.replace(name, name[:4] + bytes([name[4] ^ 1]) + name[5:]))
        refused(store, "_manifest.avro is damaged")


def test_a_state_in_another_versions_folder_is_refused() -> None:
    world = world_of(1)
    world.store.put(state_key(5), as_anothers(world.store.get(state_key(4))))
    refused(world.store, "it is the state of version 4")
    assert not opened(world.store).verify().ok
    assert repaired(world.store).status == "SUCCESS"  # by the versions, which are all there
    world.store.delete([version_key(number) for number in range(1, 6)])
    assert repaired(world.store).status == "PARTIAL_SUCCESS"


@pytest.mark.parametrize("said", [0, 1, 3, 100])
def test_a_manifest_with_another_number_of_entries_than_its_state_says_is_refused(said: int) -> None:
    world = World(interval=1, store=None)
    world.accepted(world.table.append([world.write(), world.write()]))
    state = decode_state(world.store.get(state_key(1)), "state")
    (info,) = state.manifests
    wrong = replace(state, manifests=(replace(info, num_entries=said),))
    world.store.put(state_key(1), encode_state(wrong, bytes(16)))
    world.store.delete([version_key(1)])
    refused(world.store, f"holds 2 entries but its state says {said}")
    assert not opened(world.store).verify().ok
    result = repaired(world.store)
    assert (result.status, result.valid_splits) == ("PARTIAL_SUCCESS", 2)


def test_manifests_that_changed_places_are_refused() -> None:
    world = world_of(1)
    one, other, *_ = sorted(RawLog(world.store).manifests())
    held = world.store.get(log_key(one)), world.store.get(log_key(other))
    world.store.put(log_key(one), held[1])
    world.store.put(log_key(other), held[0])
    refused(world.store, "files were mixed up")
