"""What an S3 store makes of each answer that a server may give; the answers are scripted, or lost by a proxy."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, Unknown
from headgate_table.store.s3.store import MULTIPART_BYTES, S3Store
from headgate_table.store.settings import StoreSettings
from support.restless import RestlessAmbient
from support.servers.processes import free_port
from support.servers.proxy import Proxy, proxy_before
from support.servers.scripted import Answer, Request, s3_error, scripted_server
from support.servers.versitygw import S3Server

ETAG = {"ETag": '"e"'}


@contextlib.contextmanager
def opened(
    endpoint: str, bucket: str = "lake", *, ambient: RestlessAmbient | None = None, **extra: Any
) -> Iterator[S3Store]:
    settings = StoreSettings(s3_endpoint=endpoint, s3_access_key="key", s3_secret_key="secret", s3_region="eu-west-1")
    store = S3Store(bucket, "table", settings, ambient or RestlessAmbient(), **extra)
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def answering(*answers: Answer) -> Iterator[tuple[S3Store, list[Request]]]:
    """A store before a server that gives these answers in turn, and the last one for ever."""
    asked: list[Request] = []

    def answer(request: Request) -> Answer:
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]

    with scripted_server(answer) as endpoint, opened(endpoint) as store:
        yield store, asked


@contextlib.contextmanager
def behind_proxy(server: S3Server, bucket: str) -> Iterator[tuple[S3Store, Proxy]]:
    port = urlsplit(server.endpoint).port
    assert port is not None
    with proxy_before(port) as proxy:
        settings = StoreSettings(
            s3_endpoint=f"http://127.0.0.1:{proxy.port}",
            s3_access_key=server.access_key,
            s3_secret_key=server.secret_key,
        )
        store = S3Store(bucket, "table", settings, RestlessAmbient())
        try:
            yield store, proxy
        finally:
            store.close()


def is_put(request: bytes) -> bool:
    return request.startswith(b"PUT ")


def test_a_create_whose_answer_is_lost_is_unknown_and_was_written(versitygw: S3Server, s3_bucket: str) -> None:
    with behind_proxy(versitygw, s3_bucket) as (store, proxy):
        proxy.lose_answer = is_put
        outcome = store.create("log/1", b"ours")
        assert isinstance(outcome, Unknown)
        assert "table/log/1" in outcome.reason
        assert (proxy.lost, store.get("log/1")) == (1, b"ours")


def test_a_swap_whose_answer_is_lost_is_unknown_and_was_written(versitygw: S3Server, s3_bucket: str) -> None:
    with behind_proxy(versitygw, s3_bucket) as (store, proxy):
        created = store.create("pointer", b"1")
        assert isinstance(created, Created)
        proxy.lose_answer = is_put
        assert isinstance(store.swap("pointer", b"2", created.etag), Unknown)
        assert (proxy.lost, store.get("pointer")) == (1, b"2")


def test_a_create_whose_answer_is_cut_is_unknown(versitygw: S3Server, s3_bucket: str) -> None:
    with behind_proxy(versitygw, s3_bucket) as (store, proxy):
        proxy.cut_answer_to = lambda request: 20 if is_put(request) else None
        assert isinstance(store.create("log/1", b"ours"), Unknown)


def test_a_body_that_is_always_cut_is_an_error_after_three_attempts(versitygw: S3Server, s3_bucket: str) -> None:
    with behind_proxy(versitygw, s3_bucket) as (store, proxy):
        store.put("k", b"x" * 5000)
        proxy.cut_answer_to = lambda request: 2000 if request.startswith(b"GET ") else None
        with pytest.raises(StoreError, match=r"could not read .*table/k"):
            store.get("k")
        assert proxy.lost == 3


def test_a_body_that_is_cut_once_is_read_again(versitygw: S3Server, s3_bucket: str) -> None:
    with behind_proxy(versitygw, s3_bucket) as (store, proxy):
        store.put("k", b"x" * 5000)
        proxy.cut_answer_to = lambda request: 2000 if request.startswith(b"GET ") and not proxy.lost else None
        assert (store.get("k"), proxy.lost) == (b"x" * 5000, 1)


def test_a_refused_connection_is_an_error_that_names_the_endpoint() -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    with opened(endpoint) as store:
        for ask in (lambda: store.create("k", b""), lambda: store.swap("k", b"", "e"), lambda: store.get("k")):
            with pytest.raises(StoreError, match=f"{endpoint}/? can't be reached.*Check s3.endpoint"):
                ask()


def test_a_wrong_secret_is_named_as_such(versitygw: S3Server, s3_bucket: str) -> None:
    settings = StoreSettings(
        s3_endpoint=versitygw.endpoint, s3_access_key=versitygw.access_key, s3_secret_key="not the secret"
    )
    with (
        contextlib.closing(S3Store(s3_bucket, "", settings, RestlessAmbient())) as store,
        pytest.raises(StoreError, match=r"doesn't accept the credentials \(SignatureDoesNotMatch\)"),
    ):
        store.create("k", b"")


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.get("k"),
        lambda store: store.head("k"),
        lambda store: store.put("k", b""),
        lambda store: store.create("k", b""),
        lambda store: store.swap("k", b"", '"e"'),
        lambda store: list(store.list()),
        lambda store: store.list_folder(),
        lambda store: store.delete(["k"]),
    ],
    ids=["get", "head", "put", "create", "swap", "list", "list_folder", "delete"],
)
def test_a_missing_bucket_is_named_by_every_method(versitygw: S3Server, ask: Callable[[S3Store], object]) -> None:
    with (
        contextlib.closing(S3Store("no-such-bucket", "", versitygw.settings(), RestlessAmbient())) as store,
        pytest.raises(StoreError, match=r"there is no bucket 'no-such-bucket'.*Create it"),
    ):
        ask(store)


@pytest.mark.parametrize("code", ["ConditionalRequestConflict", "OperationAborted"])
def test_a_conflict_without_effect_is_tried_again(code: str) -> None:
    with answering(s3_error(409, code), s3_error(409, code), Answer(200, headers=ETAG)) as (store, asked):
        assert store.create("k", b"1") == Created('"e"')
        assert [request.headers["If-None-Match"] for request in asked] == ["*"] * 3


def test_a_conflict_that_never_ends_is_an_error_after_ten_attempts() -> None:
    with answering(s3_error(409, "ConditionalRequestConflict")) as (store, asked):
        with pytest.raises(StoreError, match="Nothing was written"):
            store.create("k", b"1")
        assert len(asked) == 10


def test_a_create_that_meets_another_object_after_a_conflict_has_lost() -> None:
    with answering(s3_error(409, "ConditionalRequestConflict"), s3_error(412, "PreconditionFailed")) as (store, _):
        assert store.create("k", b"1") == AlreadyExists()


def test_a_refused_condition_without_a_body_is_recognised_by_its_status() -> None:
    with answering(Answer(412)) as (store, _):
        assert store.create("k", b"1") == AlreadyExists()


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failing_server_leaves_a_conditional_write_unknown_and_is_asked_once(status: int) -> None:
    with answering(s3_error(status, "InternalError")) as (store, asked):
        outcome = store.create("k", b"1")
        assert isinstance(outcome, Unknown)
        assert str(status) in outcome.reason
        assert len(asked) == 1


def test_a_failing_server_is_asked_again_for_a_plain_put() -> None:
    with answering(s3_error(503, "SlowDown"), Answer(200, headers=ETAG)) as (store, asked):
        store.put("k", b"1")
        assert len(asked) == 2


def test_a_server_that_can_not_do_conditional_writes_is_named_as_such() -> None:
    with (
        answering(s3_error(501, "NotImplemented")) as (store, _),
        pytest.raises(StoreError, match="a store with conditional writes"),
    ):
        store.create("k", b"1")


def test_swap_sends_the_etag_as_its_condition() -> None:
    with answering(Answer(200, headers=ETAG)) as (store, asked):
        store.swap("k", b"1", '"old"')
        assert asked[0].headers["If-Match"] == '"old"'


def test_no_write_waits_for_permission_to_send_its_body() -> None:
    with answering(Answer(200, headers=ETAG)) as (store, asked):
        store.put("k", b"1")
        store.create("k", b"1")
        assert ["Expect" in request.headers for request in asked] == [False, False]


def test_the_wrong_region_is_named_with_the_right_one() -> None:
    malformed = s3_error(400, "AuthorizationHeaderMalformed", region="us-west-2")
    with (
        answering(malformed) as (store, _),
        pytest.raises(StoreError, match=r"not in region 'eu-west-1'.*set s3.region to 'us-west-2'"),
    ):
        store.create("k", b"1")


def test_a_redirect_is_named_with_the_region_in_its_headers() -> None:
    with (
        answering(s3_error(301, "PermanentRedirect", headers={"x-amz-bucket-region": "ap-south-1"})) as (store, _),
        pytest.raises(StoreError, match=r"set s3.region to 'ap-south-1'"),
    ):
        store.get("k")


@pytest.mark.parametrize(
    ("ask", "permission"),
    [
        (lambda store: store.get("k"), "s3:GetObject"),
        (lambda store: store.put("k", b""), "s3:PutObject"),
        (lambda store: store.create("k", b""), "s3:PutObject"),
        (lambda store: list(store.list()), "s3:ListBucket"),
        (lambda store: store.delete(["k"]), "s3:DeleteObject"),
    ],
    ids=["get", "put", "create", "list", "delete"],
)
def test_a_denied_access_names_the_permission(ask: Callable[[S3Store], object], permission: str) -> None:
    with (
        answering(s3_error(403, "AccessDenied")) as (store, _),
        pytest.raises(StoreError, match=f"access to bucket 'lake' was denied.*need {permission} there"),
    ):
        ask(store)


def test_an_expired_token_is_named_as_such() -> None:
    with (
        answering(s3_error(400, "ExpiredToken")) as (store, _),
        pytest.raises(StoreError, match="credentials have expired"),
    ):
        store.get("k")


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.get("k"),
        lambda store: store.head("k"),
        lambda store: list(store.list()),
        lambda store: store.list_folder(),
    ],
    ids=["get", "head", "list", "list_folder"],
)
def test_a_page_of_a_proxy_is_no_answer(ask: Callable[[S3Store], object]) -> None:
    with (
        answering(Answer(200, b"<html>Please log in</html>", {"Content-Type": "text/html"})) as (store, _),
        pytest.raises(StoreError, match="in a way that S3 doesn't"),
    ):
        ask(store)


def test_a_page_of_a_proxy_leaves_a_conditional_write_unknown() -> None:
    with answering(Answer(200, b"<html>Please log in</html>", {"Content-Type": "text/html"})) as (store, _):
        assert isinstance(store.create("k", b"1"), Unknown)


def test_a_key_that_can_not_be_deleted_is_named() -> None:
    body = (
        b"<DeleteResult><Error><Key>table/b</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>"
    )
    with (
        answering(Answer(200, body)) as (store, _),
        pytest.raises(StoreError, match=r"could not delete s3://lake/table/b \(AccessDenied: no\)"),
    ):
        store.delete(["a", "b"])


def test_keys_are_deleted_a_thousand_at_a_time() -> None:
    with answering(Answer(200, b"<DeleteResult></DeleteResult>")) as (store, asked):
        store.delete(f"k{number}" for number in range(2001))
        assert [request.body.count(b"<Key>") for request in asked] == [1000, 1000, 1]


def test_a_large_put_is_sent_in_parts(versitygw: S3Server, s3_bucket: str, s3_client: Any) -> None:
    data = bytes(range(256)) * (MULTIPART_BYTES // 256) + b"more"
    with contextlib.closing(S3Store(s3_bucket, "t", versitygw.settings(), RestlessAmbient())) as store:
        store.put("large", data)
        assert store.get("large") == data
    assert s3_client.head_object(Bucket=s3_bucket, Key="t/large")["ETag"].endswith('-2"')


def test_a_create_that_one_request_can_not_carry_is_refused_unsent() -> None:
    with (
        opened("http://127.0.0.1:1", max_create_bytes=10) as store,
        pytest.raises(InvalidInput, match=r"11 bytes.* at most 10"),
    ):
        store.create("k", b"x" * 11)


def test_a_server_that_lists_by_folder_is_put_in_order() -> None:
    with scripted_server(listing_by_folder(FOLDER_ORDER)) as endpoint, opened(endpoint) as store:
        assert [info.key for info in store.list()] == sorted(FOLDER_ORDER)


@pytest.mark.parametrize("after", sorted(["a", "a-", "a-b", "a-b/x", "a/", "a/x", "a/y", "ab", "zz"]))
def test_a_listing_after_a_key_is_right_on_a_server_that_lists_by_folder(after: str) -> None:
    with scripted_server(listing_by_folder(FOLDER_ORDER)) as endpoint, opened(endpoint) as store:
        assert [info.key for info in store.list(after=after)] == [key for key in sorted(FOLDER_ORDER) if key > after]


@pytest.mark.parametrize("after", sorted(["", "a", "a-", "a-b", "a-b.json", "a/", "a-b/", "ab", "ab.json", "zz"]))
def test_a_folder_after_a_key_is_right_on_a_server_that_lists_by_folder(after: str) -> None:
    with scripted_server(listing_by_folder(FOLDER_ORDER)) as endpoint, opened(endpoint) as store:
        folder = store.list_folder(after=after)
    assert [info.key for info in folder.objects] == [
        key for key in sorted(FOLDER_ORDER) if "/" not in key and key > after
    ]
    assert list(folder.folders) == sorted(
        {f"{key.partition('/')[0]}/" for key in FOLDER_ORDER if "/" in key and f"{key.partition('/')[0]}/" > after}
    )


def test_a_folder_after_a_version_does_not_read_the_versions_before_it() -> None:
    keys = [f"{number:020}.json" for number in range(100)]
    asked: list[Request] = []
    by_folder = listing_by_folder(keys)

    def answer(request: Request) -> Answer:
        asked.append(request)
        return by_folder(request)

    with scripted_server(answer) as endpoint, opened(endpoint) as store:
        assert [info.key for info in store.list_folder(after=keys[97]).objects] == keys[98:]
    assert len(asked) == 4  # 10 keys at most before the one asked for, 3 a page


def test_markers_of_folders_are_not_listed(versitygw: S3Server, s3_bucket: str, s3_client: Any) -> None:
    s3_client.put_object(Bucket=s3_bucket, Key="t/folder/", Body=b"")
    s3_client.put_object(Bucket=s3_bucket, Key="t/k", Body=b"")
    with contextlib.closing(S3Store(s3_bucket, "t", versitygw.settings(), RestlessAmbient())) as store:
        assert [info.key for info in store.list()] == ["k"]
        assert [info.key for info in store.list_folder("folder/").objects] == []


def test_a_listing_of_several_pages_is_whole(versitygw: S3Server, s3_bucket: str) -> None:
    with contextlib.closing(S3Store(s3_bucket, "t", versitygw.settings(), RestlessAmbient())) as store:
        keys = [f"k{number:04}" for number in range(1005)]
        for key in keys:
            (versitygw.folder / s3_bucket / "t").mkdir(exist_ok=True)
            (versitygw.folder / s3_bucket / "t" / key).write_bytes(b"")
        assert [info.key for info in store.list()] == keys
        assert [info.key for info in store.list_folder(after="k0003").objects] == keys[4:]


def test_the_head_of_a_missing_object_asks_for_the_bucket_once() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Answer:
        asked.append(request)
        return Answer(200) if request.path in ("/lake", "/lake/") else Answer(404)

    with scripted_server(answer) as endpoint, opened(endpoint) as store:
        assert [store.head("a"), store.head("b")] == [None, None]
    assert len(asked) == 3


def test_an_object_above_its_bound_is_not_downloaded() -> None:
    with (
        answering(Answer(200, b"x" * 100, ETAG)) as (store, _),
        pytest.raises(StoreError, match="larger than the 99 bytes"),
    ):
        store.get("k", max_bytes=99)


def test_a_missing_object_is_object_missing_with_an_empty_body_as_well() -> None:
    with answering(Answer(404)) as (store, _), pytest.raises(ObjectMissing):
        store.get("k")


FOLDER_ORDER = ["a/x", "a/y/z", "a-b.json", "a-b/x", "a.json", "a0/x", "ab.json", "b"]
"""As a server lists them that orders each folder by name: `a` before `a-b`, although `a-b` is before `a/x` in bytes."""


def listing_by_folder(keys: list[str]) -> Callable[[Request], Answer]:
    """A server in the manner of SeaweedFS: pages of three, ordered by the parts of the path."""

    def order(key: str) -> tuple[str, ...]:
        return tuple(key.rstrip("/").split("/"))

    def answer(request: Request) -> Answer:
        query = request.query
        prefix = query["prefix"]
        names = {f"table/{key}" for key in keys}
        if "delimiter" in query:
            names = {
                prefix + name.removeprefix(prefix).partition("/")[0] + ("/" if "/" in name.removeprefix(prefix) else "")
                for name in names
                if name.startswith(prefix)
            }
        start = query.get("continuation-token") or query.get("start-after", "")
        left = [name for name in sorted(names, key=order) if name.startswith(prefix) and order(name) > order(start)]
        page, more = left[:3], len(left) > 3
        items = "".join(
            f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"
            if name.endswith("/")
            else f"<Contents><Key>{name}</Key><Size>1</Size><ETag>e</ETag>"
            "<LastModified>2024-01-01T00:00:00Z</LastModified></Contents>"
            for name in page
        )
        token = f"<NextContinuationToken>{page[-1]}</NextContinuationToken>" if more else ""
        truncated = f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        return Answer(200, f"<ListBucketResult>{truncated}{items}{token}</ListBucketResult>".encode())

    return answer


def test_what_time_the_server_has_is_told_by_its_answers() -> None:
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    with answering(Answer(200, headers={**ETAG, "Date": date})) as (store, _):
        assert store.clock_ms() is None
        store.create("k", b"1")
        told_ms = store.clock_ms()
        assert told_ms is not None
        assert 0 <= told_ms - 1_704_067_200_000 < 600_000
