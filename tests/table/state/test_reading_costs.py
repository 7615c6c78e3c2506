"""What reading costs, counted: requests, bytes, manifests, entries, Python steps, memory. Times are in the benchmarks.

The tables are foreign: their manifests are put together by `support.logs.foreign_log`, not by our encoders.
"""

import threading
from pathlib import Path

import pyarrow.compute as pc
import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Committed
from headgate_table.avro import decode
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from support.calls import python_calls
from support.logs.foreign_log import build_on, day, even_runs, large_path, large_table
from support.logs.raw_log import RawLog
from support.memory import rss_growth_of
from support.servers.versitygw import S3Server
from support.stores import FaultyStore, MemoryStore
from support.tables import files, fresh_resources, opened
from support.writers.handmade import HandMade

DAYS_EACH = 10
FILES_A_DAY = 5_000
MANIFESTS = 20
MILLION = MANIFESTS * DAYS_EACH * FILES_A_DAY


def memory_table(manifests: int, files_each: int, **changes: object) -> FaultyStore:
    """A table on a counting store: a manifest a day."""
    runs = even_runs(manifests, 1, files_each)
    return FaultyStore(build_on(MemoryStore(), lambda made: large_table(made, runs, **changes), "date"))


@pytest.fixture(scope="session")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of a million files in 20 manifests, sorted by day, 5,000 files a day, 10 days a manifest."""
    root = tmp_path_factory.mktemp("million") / "table"
    made = HandMade(root, ("date",))
    made.start()
    large_table(made, even_runs(MANIFESTS, DAYS_EACH, FILES_A_DAY))
    return root


@pytest.fixture
def million_store(million: Path) -> FaultyStore:
    return FaultyStore(local(million))


def local(root: Path) -> Store:
    return open_store(str(root), StoreSettings(local_durable=False), SystemAmbient())


def asked(store: FaultyStore) -> list[str]:
    """The objects that were fetched, by the last part of their names before any id."""
    return sorted(step.key.rpartition("/")[2].partition("-")[0] for step in store.steps if step.operation == "get")


@pytest.fixture
def bulk_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries must be decoded in bulk: reading them record by record fails."""

    def refuse(*_: object) -> None:
        raise AssertionError("entries were read record by record")

    monkeypatch.setattr(decode, "read_records", refuse)


@pytest.mark.spec("testRead70KFilesLatency")
@pytest.mark.usefixtures("bulk_only")
def test_70000_files_take_one_request_for_each_object() -> None:
    """Break: `latest` probes the next state by number; or `paths` fetches a manifest that `num_files` has fetched."""
    store = memory_table(2, 35_000)
    snapshot = opened(store).snapshot()
    assert (snapshot.num_files, snapshot.total_bytes) == (70_000, 70_000_000)
    assert len(snapshot.paths()) == 70_000
    assert asked(store) == ["_last_checkpoint", "_manifest.avro", "manifest", "manifest"]
    assert (store.count(), store.count("list_folder")) == (5, 1)
    statistics = snapshot.statistics
    assert (statistics.manifests_read, statistics.entries_decoded, statistics.entries_returned) == (2, 70_000, 70_000)
    sizes = [len(store.inner.get(info.key)) for info in store.inner.list("_transaction_log/manifests/")]
    assert statistics.bytes_fetched == sum(sizes)


@pytest.mark.spec("testRead70KFilesLatency")
def test_a_second_snapshot_fetches_no_manifest_again() -> None:
    """Break: `read_manifest` doesn't put what it decoded into the cache."""
    store = memory_table(2, 1_000)
    table = opened(store)
    assert table.snapshot().num_files == 2_000
    first = store.count("get")
    again = table.snapshot()
    assert again.num_files == 2_000
    assert (store.count("get"), again.statistics.manifests_cached, again.statistics.bytes_fetched) == (first, 2, 0)


@pytest.mark.spec("testRead100KFilesLatency")
@pytest.mark.usefixtures("bulk_only")
def test_100000_files_are_read_without_a_python_step_for_each() -> None:
    """Break: `_live` looks for repeated paths in a Python loop; or `_conform` goes through `to_pylist`."""
    small, large = memory_table(2, 1_000), memory_table(2, 50_000)

    def reading(store: FaultyStore) -> int:
        return opened(store).snapshot().num_files

    assert reading(large) == 100_000
    # Blocks are unpacked one by one, 200 entries each; everything else is done once a manifest.
    blocks = 100_000 // 200
    assert python_calls(lambda: reading(large)) < python_calls(lambda: reading(small)) + 20 * blocks


@pytest.mark.spec("testParallelManifestReadThroughput")
def test_of_ten_manifests_eight_are_on_their_way_at_once() -> None:
    """Break: `new_resources` makes fewer threads than `parallelism` says; or `read_entries` reads one by one."""
    store = FlightStore(memory_table(10, 100).inner, 8)
    snapshot = opened(store, resources=fresh_resources(parallelism=8)).snapshot()
    assert snapshot.num_files == 1_000
    assert (store.most, snapshot.statistics.manifests_read) == (8, 10)


class FlightStore(FaultyStore):
    """Keeps requests for manifests waiting until `together` of them are there; notes the most there ever were."""

    def __init__(self, inner: Store, together: int) -> None:
        super().__init__(inner)
        self._full = threading.Event()
        self._count = threading.Lock()
        self._together = together
        self._flying = 0
        self.most = 0

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        if "/manifests/" not in key:
            return super().get(key, max_bytes=max_bytes)
        with self._count:
            self._flying += 1
            self.most = max(self.most, self._flying)
            if self._flying >= self._together:
                self._full.set()
        assert self._full.wait(20), f"only {self.most} requests were made at once"
        data = super().get(key, max_bytes=max_bytes)
        with self._count:
            self._flying -= 1
        return data


_READ = """
import sys
from headgate_table.table import Table
from support.logs.foreign_log import large_manifest
from headgate_table.avro.container import parse_container
from headgate_table.indextables.format.entries import decode_entries
decode_entries(parse_container(large_manifest([(range(300), {})]), "warm"), ["path"])  # the decoder's own memory
settled()
root, where, expected = sys.argv[1:]
snapshot = Table.open(root).snapshot(where=where or None)
assert snapshot.num_files == int(expected)
"""


@pytest.mark.spec("testMemoryUsageDuringRead")
def test_reading_100000_files_takes_less_than_100_megabytes(tmp_path: Path) -> None:
    """Break: `decode_columns` goes through `_by_records`, which holds every entry as a dict; or all columns are kept."""
    made = HandMade(tmp_path, ("date",))
    made.start()
    large_table(made, even_runs(2, 1, 50_000))
    assert rss_growth_of(_READ, str(tmp_path), "", "100000") < 100 << 20


@pytest.mark.spec("testS3ReadLatency")
def test_reading_a_state_on_s3_takes_one_http_request_for_each_object(
    s3_bucket: str, versitygw: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: the S3 store's `get` asks for the size first (a HEAD before each GET)."""
    settings = versitygw.settings()
    store = open_store(f"s3://{s3_bucket}/lake/t", settings, SystemAmbient())
    build_on(store, lambda made: large_table(made, even_runs(3, 1, 2_000)), "date")
    requests = http_requests(monkeypatch)
    assert opened(store).snapshot().num_files == 6_000
    store.close()
    assert sorted(requests) == ["GET"] * (1 + 1 + 1 + 3)  # pointer, listing, state, manifests


def http_requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods of all requests that botocore sends from now on."""
    from botocore.httpsession import URLLib3Session

    sent: list[str] = []
    original = URLLib3Session.send

    def send(self: URLLib3Session, request: object) -> object:
        sent.append(request.method)  # type: ignore[attr-defined]  # botocore's prepared request
        return original(self, request)

    monkeypatch.setattr(URLLib3Session, "send", send)
    return sent


@pytest.mark.spec("testIncrementalWrite100FilesLatency")
def test_adding_100_files_to_70000_writes_100_entries_and_reads_no_manifest_again() -> None:
    """Break: `_plan` writes all entries anew; or the hashes of paths aren't cached and each commit decodes 70,000."""
    store = memory_table(2, 35_000)
    table = opened(store, interval=1)
    assert isinstance(table.append(files("first", 100, date=day(0))), Committed)
    before, written = len(store.steps), store.byte_count("put", "create", "swap")
    calls = python_calls(lambda: table.append(files("second", 100, date=day(1))))
    steps = store.steps[before:]
    assert [step.operation for step in steps if step.writes] == ["create", "put", "create", "swap"]
    # Read are the pointer, listings, and the manifest of the first hundred, which nobody has looked at before.
    assert sum("manifests/" in step.key and step.operation == "get" for step in steps) <= 1
    assert len(steps) <= 12
    assert store.byte_count("put", "create", "swap") - written < 40_000
    assert calls < 35_000
    assert RawLog(store).state(3)["numFiles"] == 70_200


# --- pruning ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("testPartitionPruning1MFiles")
def test_one_day_of_a_million_files_costs_one_manifest(million_store: FaultyStore) -> None:
    """Break: `_may_contain` always says yes; or the state's manifests are fetched before they are judged."""
    snapshot = opened(million_store).snapshot(where=f"date = '{day(57)}'")
    assert snapshot.num_files == FILES_A_DAY
    statistics = snapshot.statistics
    assert (statistics.manifests_read, statistics.manifests_skipped) == (1, MANIFESTS - 1)
    # The metadata is in version file 0, as in most real tables.
    assert asked(million_store) == [
        f"{0:020d}.json",
        "_last_checkpoint",
        "_manifest.avro",
        "manifest",
    ]
    sizes = [info.size for info in million_store.inner.list("_transaction_log/manifests/")]
    assert statistics.bytes_fetched <= max(sizes)


@pytest.mark.spec("testPartitionPruningPerformance1M")
def test_of_the_manifest_only_blocks_with_the_day_are_decoded(million_store: FaultyStore) -> None:
    """Break: `_block_test` returns None, so that all 50,000 entries of the manifest are decoded for 5,000."""
    wanted = day(123)
    snapshot = opened(million_store).snapshot(where=f"date = '{wanted}'")
    found = snapshot.files(["path"]).column("path").to_pylist()
    assert found == [large_path(123 * FILES_A_DAY + n, {"date": wanted}) for n in range(FILES_A_DAY)]
    statistics = snapshot.statistics
    assert FILES_A_DAY <= statistics.entries_decoded < FILES_A_DAY + 2 * 300
    assert statistics.entries_skipped == MILLION - statistics.entries_decoded


@pytest.mark.spec("testPartitionPruningMemory1M")
def test_one_day_of_a_million_files_takes_less_than_50_megabytes(million: Path) -> None:
    """Break: `_may_contain` always says yes; or `_block_test` returns None and a manifest is decoded whole."""
    assert rss_growth_of(_READ, str(million), f"date = '{day(57)}'", str(FILES_A_DAY)) < 50 << 20


@pytest.mark.spec("testPartitionPruningEffectiveness")
@pytest.mark.parametrize(
    ("where", "read"),
    [
        (f"date = '{day(3)}'", 1),
        (f"date IN ('{day(0)}', '{day(7)}')", 2),
        (f"date >= '{day(8)}'", 2),
        (f"date > '{day(1)}' AND date < '{day(5)}'", 3),
        (f"date = '{day(0)}' OR date = '{day(9)}'", 2),
        ("date = '1999-01-01'", 0),
        (f"date != '{day(3)}'", 9),
        ("date IS NOT NULL", 10),
    ],
)
def test_exactly_the_manifests_that_may_match_are_read(where: str, read: int) -> None:
    """Break: one of the cases of `may_contain` says yes to everything, or compares the wrong end."""
    store = memory_table(10, 20)
    snapshot = opened(store).snapshot(where=where)
    assert snapshot.num_files == read * 20
    assert (snapshot.statistics.manifests_read, snapshot.statistics.manifests_skipped) == (read, 10 - read)


@pytest.mark.spec("testPartitionPruningWithTombstones")
def test_a_pruned_reading_hides_the_tombstoned_and_those_removed_since() -> None:
    """Break: `_live` applies tombstones only when nothing was pruned."""
    gone = [large_path(n, {"date": day(n // 20)}) for n in (20, 21, 45, 199)]
    store = memory_table(10, 20, tombstones=gone)
    table = opened(store)
    table.delete(paths=[large_path(22, {"date": day(1)})])
    snapshot = table.snapshot(where=f"date = '{day(1)}'")
    everything = [path for path in table.snapshot().paths() if f"date={day(1)}/" in path]
    assert snapshot.paths() == everything == [large_path(n, {"date": day(1)}) for n in range(23, 40)]
    assert snapshot.statistics.manifests_skipped == 9


def test_columns_that_nobody_asked_for_are_not_decoded() -> None:
    """Break: `decode_columns` selects all present columns."""
    store = memory_table(1, 5_000)
    table = opened(store)
    assert pc.sum(table.snapshot().files(["size"]).column("size")).as_py() == 5_000_000
    (key,) = [info.key for info in store.inner.list("_transaction_log/manifests/")]
    cached = table.reader.resources.cache.get(store.uri, key)
    assert cached is not None
    assert set(cached.column_names) == {"path", "size"}
