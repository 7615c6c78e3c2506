"""What every store promises, run against the one in memory and every real one."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.measures import SILENT
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, Store
from headgate_table.store.measured import MeasuredStore
from headgate_table.store.open import open_store
from headgate_table.store.probe import probe_conditional_writes
from headgate_table.store.settings import StoreSettings
from support.restless import RestlessAmbient
from support.servers.azurite import AzureServer
from support.servers.versitygw import S3Server
from support.stores.memory import MemoryStore
from support.stores.races import race

AMBIENT = SystemAmbient()
KINDS = ("memory", "measured", "local", "s3", "azure")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    kind = str(request.param)
    if kind == "memory":
        yield MemoryStore(AMBIENT)
        return
    if kind == "measured":
        yield MeasuredStore(MemoryStore(AMBIENT), SILENT, AMBIENT.monotonic_s)
        return
    if kind == "local":
        opened = open_store(str(tmp_path / "lake" / "table"), StoreSettings(local_durable=False), AMBIENT)
    elif kind == "s3":
        server: S3Server = request.getfixturevalue("versitygw")
        bucket: str = request.getfixturevalue("s3_bucket")
        opened = open_store(f"s3://{bucket}/lake/table", server.settings(), AMBIENT)
    else:
        service: AzureServer = request.getfixturevalue("azurite")
        container: str = request.getfixturevalue("azure_container")
        opened = open_store(f"az://{container}/lake/table", service.settings(), AMBIENT)
    yield opened
    opened.close()


def keys_of(store: Store, prefix: str = "", after: str = "") -> list[str]:
    return [info.key for info in store.list(prefix, after=after)]


def created(outcome: object) -> Created:
    assert isinstance(outcome, Created)
    return outcome


def test_a_put_object_is_read_back_whole(store: Store) -> None:
    store.put("a/b.json", b"hello")
    assert store.get("a/b.json") == b"hello"


def test_an_empty_object_is_an_object(store: Store) -> None:
    store.put("empty", b"")
    assert store.get("empty") == b""


def test_a_second_put_replaces_the_first(store: Store) -> None:
    store.put("k", b"a longer first")
    store.put("k", b"second")
    assert store.get("k") == b"second"


@pytest.mark.parametrize("size", [0, 5, 20 << 20], ids=["empty", "small", "in-parts"])
def test_a_stream_is_put_from_where_it_stands(store: Store, size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"." * (size % 256)
    stream = io.BytesIO(b"skipped" + body)
    stream.seek(7)
    store.put("a/stream", b"before")
    store.put_stream("a/stream", stream)
    assert store.get("a/stream") == body


def test_reading_a_missing_object_names_it(store: Store) -> None:
    with pytest.raises(ObjectMissing) as caught:
        store.get("no/such")
    assert caught.value.key == "no/such"
    assert f"{store.uri}/no/such" in str(caught.value)


def test_reading_a_missing_object_with_its_etag_is_object_missing(store: Store) -> None:
    with pytest.raises(ObjectMissing):
        store.get_with_etag("no/such")


def test_reading_a_range_of_a_missing_object_is_object_missing(store: Store) -> None:
    with pytest.raises(ObjectMissing):
        store.get_range("no/such", 0, 4)


def test_a_folder_is_no_object(store: Store) -> None:
    store.put("a/b", b"x")
    with pytest.raises(ObjectMissing):
        store.get("a")
    assert store.head("a") is None


def test_what_lies_below_an_object_is_missing(store: Store) -> None:
    store.put("a", b"x")
    with pytest.raises(ObjectMissing):
        store.get("a/b")
    assert store.head("a/b") is None


def test_an_object_above_its_bound_is_refused_and_named(store: Store) -> None:
    store.put("big", b"x" * 100)
    with pytest.raises(StoreError, match="big is larger than the 99 bytes"):
        store.get("big", max_bytes=99)
    with pytest.raises(StoreError, match="big is larger than the 99 bytes"):
        store.get_with_etag("big", max_bytes=99)


def test_an_object_exactly_at_its_bound_is_read(store: Store) -> None:
    store.put("big", b"x" * 100)
    assert store.get("big", max_bytes=100) == b"x" * 100
    assert store.get_with_etag("big", max_bytes=100)[0] == b"x" * 100


@pytest.mark.parametrize(
    ("start", "length", "expected"),
    [(0, 4, b"0123"), (3, 4, b"3456"), (8, 10, b"89"), (10, 5, b""), (50, 5, b""), (2, 0, b"")],
)
def test_a_range_ends_where_the_object_ends(store: Store, start: int, length: int, expected: bytes) -> None:
    store.put("digits", b"0123456789")
    assert store.get_range("digits", start, length) == expected


def test_a_range_of_an_empty_object_is_empty(store: Store) -> None:
    store.put("empty", b"")
    assert store.get_range("empty", 0, 5) == b""


def test_create_writes_what_is_absent(store: Store) -> None:
    created(store.create("log/1.json", b"one"))
    assert store.get("log/1.json") == b"one"


def test_create_leaves_what_is_there(store: Store) -> None:
    store.create("log/1.json", b"one")
    assert store.create("log/1.json", b"two") == AlreadyExists()
    assert store.get("log/1.json") == b"one"


def test_a_deleted_name_can_be_created_again(store: Store) -> None:
    store.create("k", b"one")
    store.delete(["k"])
    created(store.create("k", b"two"))
    assert store.get("k") == b"two"


def test_swap_takes_the_etag_of_a_read(store: Store) -> None:
    store.put("pointer", b"1")
    _, etag = store.get_with_etag("pointer")
    created(store.swap("pointer", b"2", etag))
    assert store.get("pointer") == b"2"


def test_swap_takes_the_etag_of_a_create(store: Store) -> None:
    etag = created(store.create("pointer", b"1")).etag
    created(store.swap("pointer", b"2", etag))
    assert store.get("pointer") == b"2"


def test_swap_takes_the_etag_of_a_swap(store: Store) -> None:
    etag = created(store.create("pointer", b"1")).etag
    second = created(store.swap("pointer", b"2", etag)).etag
    created(store.swap("pointer", b"3", second))
    assert store.get("pointer") == b"3"


def test_swap_with_an_outdated_etag_writes_nothing(store: Store) -> None:
    etag = created(store.create("pointer", b"1")).etag
    store.put("pointer", b"2")
    assert store.swap("pointer", b"3", etag) == AlreadyExists()
    assert store.get("pointer") == b"2"


def test_swap_of_what_is_gone_writes_nothing(store: Store) -> None:
    etag = created(store.create("pointer", b"1")).etag
    store.delete(["pointer"])
    assert store.swap("pointer", b"2", etag) == AlreadyExists()
    assert store.head("pointer") is None


def test_head_tells_size_and_time(store: Store) -> None:
    before = AMBIENT.now_ms()
    store.put("k", b"12345")
    info = store.head("k")
    assert info is not None
    assert (info.key, info.size) == ("k", 5)
    # Stores round to seconds, and the clock of file systems is a tick late.
    assert info.modified_ms >= before - 2000


def test_head_of_nothing_is_none(store: Store) -> None:
    assert store.head("no/such") is None


def test_the_etag_of_a_look_changes_with_the_bytes(store: Store) -> None:
    store.put("k", b"1")
    first = store.head("k")
    store.put("k", b"22")
    second = store.head("k")
    assert first is not None
    assert second is not None
    assert first.etag != second.etag


def test_a_listing_agrees_with_head(store: Store) -> None:
    store.put("a/k", b"12345")
    assert list(store.list()) == [store.head("a/k")]


def test_a_listing_is_in_byte_order_across_folders(store: Store) -> None:
    keys = ["a-b", "a.c/x", "a/b-c/d", "a/b.txt", "a/b/x", "a/c/d/e", "a0", "b", "é/x", "日/本", "𝄞"]
    for key in reversed(keys):
        store.put(key, b"")
    assert keys_of(store) == sorted(keys, key=str.encode)


def test_a_listing_begins_after_a_key(store: Store) -> None:
    for key in ("a-b", "a/b", "a/c", "a/d/e", "b"):
        store.put(key, b"")
    assert keys_of(store, after="a/b") == ["a/c", "a/d/e", "b"]


def test_a_listing_after_a_key_that_is_absent_begins_behind_its_place(store: Store) -> None:
    for key in ("a-b", "a/b", "a/c", "b"):
        store.put(key, b"")
    assert keys_of(store, after="a-c") == ["a/b", "a/c", "b"]


def test_a_prefix_may_end_inside_of_a_name(store: Store) -> None:
    for key in ("log/state-v1/m", "log/state-v10/m", "log/state-v2/m", "log/x"):
        store.put(key, b"")
    assert keys_of(store, "log/state-v1") == ["log/state-v1/m", "log/state-v10/m"]


def test_a_prefix_that_is_a_folder_lists_that_folder_only(store: Store) -> None:
    for key in ("log/1", "log2/1", "lo"):
        store.put(key, b"")
    assert keys_of(store, "log/") == ["log/1"]


def test_a_store_without_objects_lists_nothing(store: Store) -> None:
    assert keys_of(store) == []
    assert keys_of(store, "no/such/") == []


def test_a_folder_shows_its_objects_and_its_folders(store: Store) -> None:
    for key in ("log/2", "log/10", "log/state-v1/m", "log/state-v1/n", "log/manifests/deep/er", "other"):
        store.put(key, b"12")
    folder = store.list_folder("log/")
    assert [info.key for info in folder.objects] == ["log/10", "log/2"]
    assert folder.folders == ("log/manifests/", "log/state-v1/")


def test_the_root_is_a_folder(store: Store) -> None:
    store.put("a/b", b"")
    store.put("c", b"")
    folder = store.list_folder()
    assert ([info.key for info in folder.objects], folder.folders) == (["c"], ("a/",))


def test_a_folder_is_shown_from_behind_a_key(store: Store) -> None:
    for key in ("log/0001.json", "log/0002.json", "log/0003.json", "log/0002/x", "log/state-v1/m"):
        store.put(key, b"")
    folder = store.list_folder("log/", after="log/0002.json")
    assert [info.key for info in folder.objects] == ["log/0003.json"]
    assert folder.folders == ("log/0002/", "log/state-v1/")


def test_a_folder_that_is_absent_is_empty(store: Store) -> None:
    folder = store.list_folder("no/such/")
    assert (folder.objects, folder.folders) == ((), ())


def test_a_folder_without_its_slash_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="/ at its end"):
        store.list_folder("log")


def test_delete_takes_absent_ones_for_done(store: Store) -> None:
    for key in ("a/1", "a/2", "a/3"):
        store.put(key, b"")
    store.delete(["a/1", "no/such", "a/3"])
    assert keys_of(store) == ["a/2"]


def test_delete_of_nothing_is_nothing(store: Store) -> None:
    store.put("a", b"")
    store.delete([])
    assert keys_of(store) == ["a"]


def test_delete_of_a_folders_name_leaves_what_is_in_it(store: Store) -> None:
    store.put("a/b", b"")
    store.delete(["a"])
    assert keys_of(store) == ["a/b"]


@pytest.mark.parametrize("key", ["", "/a", "a//b", "../a", "a/../b", "./a", "a\\b", "a\nb", "a/", "x" * 256])
def test_a_key_outside_of_the_rules_is_refused_everywhere(store: Store, key: str) -> None:
    with pytest.raises(InvalidInput):
        store.get(key)
    with pytest.raises(InvalidInput):
        store.create(key, b"")
    with pytest.raises(InvalidInput):
        store.delete([key])


def test_a_listing_can_not_climb_out_of_the_root(store: Store) -> None:
    with pytest.raises(InvalidInput):
        keys_of(store, "../")
    with pytest.raises(InvalidInput):
        store.list_folder("a/../../")


def test_names_as_long_and_as_odd_as_allowed_are_kept(store: Store) -> None:
    keys = ["k=a b%2F+&?~'\"$é/" + "x" * 255, "日本/" + "é" * 127]
    for key in keys:
        created(store.create(key, key.encode()))
    assert {key: store.get(key) for key in keys_of(store)} == {key: key.encode() for key in keys}


def test_stores_of_folders_side_by_side_do_not_see_each_other(store: Store) -> None:
    store.put("table/a", b"")
    store.put("table2/a", b"")
    assert keys_of(store, "table/") == ["table/a"]


def test_one_of_fifty_creators_of_a_key_wins(store: Store) -> None:
    outcomes = race(50, lambda number: store.create("log/7.json", b"from %d" % number))
    winners = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, Created)]
    assert len(winners) == 1
    assert [outcome for outcome in outcomes if not isinstance(outcome, Created)] == [AlreadyExists()] * 49
    assert store.get("log/7.json") == b"from %d" % winners[0]


def test_a_counter_moved_by_eight_threads_loses_nothing(store: Store) -> None:
    store.put("counter", b"0")

    def count(number: int) -> int:
        moved = 0
        while moved < 5:
            data, etag = store.get_with_etag("counter")
            moved += isinstance(store.swap("counter", b"%d" % (int(data) + 1), etag), Created)
        return moved

    assert race(8, count) == [5] * 8
    assert store.get("counter") == b"40"


def test_a_reader_beside_a_writer_sees_whole_objects_only(store: Store) -> None:
    contents = [bytes([65 + number]) * (20_000 + number * 10_000) for number in range(4)]
    store.put("k", contents[0])

    def work(number: int) -> bool:
        if number == 0:
            for turn in range(20):
                store.put("k", contents[turn % 4])
            return True
        return all(store.get("k") in contents for _ in range(20))

    assert race(4, work) == [True] * 4


def test_the_probe_trusts_it_and_leaves_nothing_behind(store: Store) -> None:
    report = probe_conditional_writes(store, AMBIENT)
    assert (report.trusted, report.problems) == (True, ())
    assert keys_of(store) == []


def test_its_address_is_as_written_without_a_slash_at_the_end(store: Store) -> None:
    assert store.uri.endswith(("lake/table", "memory://test"))


@pytest.fixture(params=("memory", "local", "s3"))
def strict(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The stores in which an object and a folder can't share a name; Azure lets them."""
    if request.param == "memory":
        yield MemoryStore()
        return
    if request.param == "local":
        opened = open_store(str(tmp_path), StoreSettings(local_durable=False), AMBIENT)
    else:
        bucket = request.getfixturevalue("s3_bucket")
        opened = open_store(f"s3://{bucket}", request.getfixturevalue("versitygw").settings(), RestlessAmbient())
    yield opened
    opened.close()


def test_a_folder_is_not_overwritten_by_an_object(strict: Store) -> None:
    strict.put("a/b", b"1")
    with pytest.raises(StoreError, match="folder"):
        strict.put("a", b"2")
    with pytest.raises(StoreError, match="folder"):
        strict.create("a", b"2")
    assert keys_of(strict) == ["a/b"]


def test_nothing_is_written_below_an_object(strict: Store) -> None:
    strict.put("a", b"1")
    with pytest.raises(StoreError):
        strict.put("a/b", b"2")
    with pytest.raises(StoreError):
        strict.create("a/b", b"2")
    assert keys_of(strict) == ["a"]
