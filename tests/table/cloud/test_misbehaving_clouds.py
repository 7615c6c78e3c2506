"""Clouds at their worst: listings that lag behind, large objects in parts, buckets in another region."""

import contextlib
import http.client
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Committed, Receipt
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import version_key
from headgate_table.store.interface import ObjectInfo, Store
from headgate_table.store.open import open_store
from headgate_table.store.s3.store import MULTIPART_BYTES
from headgate_table.store.settings import StoreSettings
from support.logs.raw_log import RawLog
from support.servers.proxy import proxy_before
from support.servers.scripted import Answer, Request, scripted_server
from support.servers.versitygw import S3Server
from support.stores import FaultyStore, MemoryStore
from support.tables import add_file, new_table, opened


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


@pytest.fixture
def s3_store(versitygw: S3Server, s3_bucket: str) -> Iterator[Store]:
    store = open_store(f"s3://{s3_bucket}/lake/t", versitygw.settings(), SystemAmbient())
    yield store
    store.close()


@pytest.mark.spec("testS3EventualConsistency")
@pytest.mark.parametrize("interval", [1, 4, 100])
def test_writers_whose_listings_lag_behind_lose_no_commit(s3_store: Store, interval: int) -> None:
    """No object is in the first three listings that are made after it was written.

    Break: `S3Store.create` writes without a condition: the second writer takes the number of the version that it
    doesn't see yet.
    """
    new_table(s3_store)
    listings: Counter[str] = Counter()

    def late(listed: Sequence[ObjectInfo]) -> Sequence[ObjectInfo]:
        listings.update(info.key for info in listed if info.key != version_key(0))
        return [info for info in listed if info.key not in listings or listings[info.key] > 3]

    lagging = FaultyStore(s3_store, reorder=late)
    first = opened(lagging, interval=interval)
    second = opened(lagging, interval=interval)
    versions = []
    for number in range(6):
        versions.append(committed(first.append([add_file(f"a{number}")])))
        versions.append(committed(second.append([add_file(f"b{number}")])))
    assert versions == list(range(1, 13))
    assert opened(s3_store).snapshot().paths() == sorted(f"{w}{n}.parquet" for w in "ab" for n in range(6))


@pytest.mark.spec("testS3EventualConsistency")
def test_a_reader_whose_listing_lags_behind_sees_an_earlier_version_whole() -> None:
    """Break: `latest` believes that every version up to the pointer's is listed, and skips those it doesn't see."""
    inner = MemoryStore()
    table = new_table(inner, interval=100)
    for number in range(8):
        table.append([add_file(f"f{number}")])
    for seen in range(1, 9):

        def up_to(listed: Sequence[ObjectInfo], seen: int = seen) -> Sequence[ObjectInfo]:
            return [info for info in listed if info.key <= version_key(seen)]

        snapshot = opened(FaultyStore(inner, reorder=up_to)).snapshot()
        assert (snapshot.version, snapshot.paths()) == (seen, [f"f{n}.parquet" for n in range(seen)])


@pytest.mark.spec("testS3EventualConsistency")
@pytest.mark.parametrize("hidden", range(1, 5))
def test_a_version_that_a_listing_leaves_out_is_missed_by_name(hidden: int) -> None:
    """Never a table without it. Break: `plan_from` doesn't count the versions that it has."""
    inner = MemoryStore()
    table = new_table(inner, interval=100)
    for number in range(5):
        table.append([add_file(f"f{number}")])

    def without(listed: Sequence[ObjectInfo]) -> Sequence[ObjectInfo]:
        return [info for info in listed if info.key != version_key(hidden)]

    with pytest.raises(CorruptTable, match=f"{hidden:020d}.json"):
        opened(FaultyStore(inner, reorder=without)).snapshot()


@pytest.mark.spec("testS3EventualConsistency")
def test_a_pointer_that_lags_behind_hides_nothing() -> None:
    """Break: `latest` stops at the pointer's version."""
    store = MemoryStore()
    table = new_table(store, interval=2)
    table.append([add_file("f0")])
    table.append([add_file("f1")])
    old = store.get("_transaction_log/_last_checkpoint")
    for number in range(2, 7):
        table.append([add_file(f"f{number}")])
    store.put("_transaction_log/_last_checkpoint", old)
    assert opened(store).snapshot().paths() == [f"f{number}.parquet" for number in range(7)]


@pytest.mark.spec("testS3MultipartUpload")
def test_a_manifest_above_16_mib_goes_up_in_parts_and_reads_back(
    s3_store: Store, s3_client: Any, s3_bucket: str
) -> None:
    """The server marks an object of parts in its ETag. Break: `S3Store.put` sends everything in one request."""
    table = new_table(s3_store, interval=1, settings={"state.compression": "none"})
    committed(table.append([add_file(f"f{number:05d}", stats="x" * 1500) for number in range(12_000)]))
    (name,) = RawLog(s3_store).manifests()
    head = s3_client.head_object(Bucket=s3_bucket, Key=f"lake/t/_transaction_log/{name}")
    assert head["ContentLength"] > MULTIPART_BYTES
    assert head["ETag"].strip('"').endswith("-2")
    snapshot = opened(s3_store).snapshot()
    assert snapshot.num_files == 12_000
    assert snapshot.log.state is not None
    assert snapshot.statistics.version_files_read == 0
    assert set(snapshot.files(["stats"]).column("stats").to_pylist()) == {"x" * 1500}


@pytest.mark.spec("testS3MultipartUpload")
def test_an_upload_whose_part_is_lost_leaves_no_manifest_or_a_whole_one(versitygw: S3Server, s3_bucket: str) -> None:
    """The answer to the second part never comes, so it is sent again. Break: `put` completes an upload without all parts."""
    port = urlsplit(versitygw.endpoint).port
    assert port is not None
    data = bytes(range(256)) * (MULTIPART_BYTES // 256 + 1)
    with proxy_before(port) as proxy:
        settings = StoreSettings(
            s3_endpoint=f"http://127.0.0.1:{proxy.port}",
            s3_access_key=versitygw.access_key,
            s3_secret_key=versitygw.secret_key,
        )
        store = open_store(f"s3://{s3_bucket}/lake/t", settings, SystemAmbient())
        proxy.lose_answer = lambda request: b"partNumber=2" in request[:500] and proxy.lost == 0
        store.put("big", data)
        assert proxy.lost == 1
        assert store.get("big") == data
        store.close()


@pytest.mark.spec("testCrossRegionRead")
def test_a_table_in_another_region_is_read_all_the_same(versitygw: S3Server, s3_bucket: str) -> None:
    """The server takes signatures for us-east-1 only, and says so to others; then each request is signed anew.

    Break: `_client` unregisters botocore's redirection, too; or `is_unknown` takes the refusal for an answer that was lost.
    """
    uri = f"s3://{s3_bucket}/lake/t"
    near = open_store(uri, versitygw.settings(), SystemAmbient())
    new_table(near, interval=1).append([add_file("a"), add_file("b")])
    near.close()
    answers: set[tuple[str, int]] = set()
    with scripted_server(passing_through(versitygw, answers)) as endpoint:
        settings = StoreSettings(
            s3_endpoint=endpoint,
            s3_access_key=versitygw.access_key,
            s3_secret_key=versitygw.secret_key,
            s3_region="eu-central-1",
        )
        far = open_store(uri, settings, SystemAmbient())
        snapshot = opened(far).snapshot()
        assert snapshot.paths() == ["a.parquet", "b.parquet"]
        assert snapshot.statistics.manifests_read == 1
        far.close()
    assert ("eu-central-1", 400) in answers
    assert ("us-east-1", 200) in answers
    assert ("eu-central-1", 200) not in answers


def passing_through(server: S3Server, answers: set[tuple[str, int]]) -> Callable[[Request], Answer]:
    """Hands requests on, and notes for which region each was signed and what the server said to it."""

    def answer(request: Request) -> Answer:
        scope = re.search(r"Credential=[^/]+/[0-9]+/([^/]+)/s3/", request.headers["Authorization"])
        assert scope is not None
        connection = http.client.HTTPConnection(urlsplit(server.endpoint).netloc, timeout=10)
        with contextlib.closing(connection):
            query = f"?{urlencode(request.query)}" if request.query else ""
            connection.request(request.method, request.path + query, request.body, dict(request.headers))
            found = connection.getresponse()
            answers.add((scope.group(1), found.status))
            kept = ("ETag", "Last-Modified", "Content-Type", "x-amz-bucket-region")
            headers = {name: value for name, value in found.getheaders() if name in kept}
            return Answer(found.status, found.read(), headers)

    return answer
