"""What an Azure store makes of the answers of a service; scripted, or lost by a proxy before Azurite."""

import contextlib
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from azure.storage.blob import BlobProperties

from headgate_schemas.ambient import SystemAmbient
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.azure.store import AzureStore
from headgate_table.store.interface import AlreadyExists, Created, Unknown
from headgate_table.store.settings import StoreSettings
from support.restless import RestlessAmbient
from support.servers.azurite import ACCOUNT, ACCOUNT_KEY, AzureServer
from support.servers.processes import free_port
from support.servers.proxy import Proxy, proxy_before
from support.servers.scripted import Answer, Request, scripted_server


def settings_at(endpoint: str, key: str = ACCOUNT_KEY) -> StoreSettings:
    return StoreSettings(azure_account_url=f"{endpoint}/{ACCOUNT}", azure_account_name=ACCOUNT, azure_account_key=key)


def opened(endpoint: str, container: str = "lake") -> "contextlib.closing[AzureStore]":
    return contextlib.closing(AzureStore(container, "table", settings_at(endpoint), RestlessAmbient()))


def refusal(status: int, code: str) -> Answer:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>scripted</Message></Error>"
    return Answer(status, body.encode(), {"x-ms-error-code": code, "Content-Type": "application/xml"})


@contextlib.contextmanager
def answering(*answers: Answer) -> Iterator[tuple[AzureStore, list[Request]]]:
    """A store before a service that gives these answers in turn, and the last one for ever."""
    asked: list[Request] = []

    def answer(request: Request) -> Answer:
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]

    with scripted_server(answer) as endpoint, opened(endpoint) as store:
        yield store, asked


@contextlib.contextmanager
def behind_proxy(server: AzureServer, container: str) -> Iterator[tuple[AzureStore, Proxy]]:
    port = urlsplit(server.endpoint).port
    assert port is not None
    with proxy_before(port) as proxy, opened(f"http://127.0.0.1:{proxy.port}", container) as store:
        yield store, proxy


def is_put(request: bytes) -> bool:
    return request.startswith(b"PUT ")


def test_a_create_whose_answer_is_lost_is_unknown_and_was_written(azurite: AzureServer, azure_container: str) -> None:
    with behind_proxy(azurite, azure_container) as (store, proxy):
        proxy.lose_answer = is_put
        assert isinstance(store.create("log/1", b"ours"), Unknown), proxy.passed
        assert (proxy.lost, store.get("log/1")) == (1, b"ours")


def test_a_swap_whose_answer_is_lost_is_unknown_and_was_written(azurite: AzureServer, azure_container: str) -> None:
    with behind_proxy(azurite, azure_container) as (store, proxy):
        created = store.create("pointer", b"1")
        assert isinstance(created, Created)
        proxy.lose_answer = is_put
        assert isinstance(store.swap("pointer", b"2", created.etag), Unknown), proxy.passed
        assert (proxy.lost, store.get("pointer")) == (1, b"2")


def test_a_refused_connection_is_an_error_that_names_the_endpoint() -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    with opened(endpoint) as store, pytest.raises(StoreError, match=f"{endpoint}/.* can't be reached"):
        store.create("k", b"")


REFUSED_WITHIN_S = 30.0
"""Twelve times what it takes, and half of what the client's own pauses would."""


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.get("x"),
        lambda store: store.head("x"),
        lambda store: list(store.list()),
        lambda store: store.put("x", b"1"),
        lambda store: store.create("x", b"1"),
        lambda store: store.delete(["x"]),
    ],
    ids=["get", "head", "list", "put", "create", "delete"],
)
def test_an_endpoint_that_refuses_connections_is_told_of_before_anybody_wonders(
    call: Callable[[AzureStore], object],
) -> None:
    with opened(f"http://127.0.0.1:{free_port()}") as store:
        began_s = SystemAmbient().monotonic_s()
        with pytest.raises(StoreError, match="can't be reached"):
            call(store)
        assert SystemAmbient().monotonic_s() - began_s < REFUSED_WITHIN_S


def test_a_wrong_key_is_refused_with_the_name_of_the_container(azurite: AzureServer, azure_container: str) -> None:
    settings = StoreSettings(
        azure_account_url=azurite.endpoint, azure_account_name=ACCOUNT, azure_account_key="d3JvbmcgYWNjb3VudCBrZXk="
    )
    with (
        contextlib.closing(AzureStore(azure_container, "", settings, RestlessAmbient())) as store,
        pytest.raises(StoreError, match=f"access to container '{azure_container}' was denied"),
    ):
        store.create("k", b"")


def test_a_wrong_key_is_named_as_such() -> None:
    with (
        answering(refusal(403, "AuthenticationFailed")) as (store, _),
        pytest.raises(StoreError, match=r"doesn't accept the credentials.*Check azure\.account-name"),
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
def test_a_missing_container_is_named(azurite: AzureServer, ask: Callable[[AzureStore], object]) -> None:
    with (
        contextlib.closing(AzureStore("no-such", "", azurite.settings(), RestlessAmbient())) as store,
        pytest.raises(StoreError, match=r"container 'no-such' .*Create it"),
    ):
        ask(store)


@pytest.mark.parametrize("status", [500, 503])
def test_a_failing_service_leaves_a_conditional_write_unknown_and_is_asked_once(status: int) -> None:
    with answering(refusal(status, "ServerBusy")) as (store, asked):
        assert isinstance(store.create("k", b"1"), Unknown)
        assert len(asked) == 1


def test_create_asks_for_absence() -> None:
    with answering(refusal(409, "BlobAlreadyExists")) as (store, asked):
        assert store.create("k", b"1") == AlreadyExists()
        assert asked[0].headers["If-None-Match"] == "*"


def test_swap_sends_the_etag_as_its_condition() -> None:
    with answering(refusal(412, "ConditionNotMet")) as (store, asked):
        assert store.swap("k", b"1", '"old"') == AlreadyExists()
        assert asked[0].headers["If-Match"] == '"old"'


def test_a_lease_of_somebody_else_is_an_error_and_no_conflict() -> None:
    with (
        answering(refusal(412, "LeaseIdMissing")) as (store, _),
        pytest.raises(StoreError, match="somebody holds a lease"),
    ):
        store.swap("k", b"1", '"old"')


def test_a_service_that_is_busy_with_the_blob_is_asked_again() -> None:
    created = Answer(201, headers={"ETag": '"e"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"})
    with answering(refusal(409, "OperationTimedOut"), created) as (store, asked):
        assert store.create("k", b"1") == Created('"e"')
        assert len(asked) == 2


def test_a_denied_access_names_the_role() -> None:
    with (
        answering(refusal(403, "AuthorizationPermissionMismatch")) as (store, _),
        pytest.raises(StoreError, match="Storage Blob Data Contributor"),
    ):
        store.create("k", b"1")


def test_more_keys_than_one_batch_takes_are_deleted(azurite: AzureServer, azure_container: str) -> None:
    with contextlib.closing(AzureStore(azure_container, "t", azurite.settings(), RestlessAmbient())) as store:
        store.put("k0", b"")
        store.put("k299", b"")
        store.put("other", b"")
        store.delete(f"k{number}" for number in range(300))
        assert [info.key for info in store.list()] == ["other"]


def test_the_blobs_that_stand_for_folders_are_no_objects(azurite: AzureServer, azure_container: str) -> None:
    with azurite.client() as client, client.get_container_client(azure_container) as container:
        container.upload_blob("t/folder", b"", metadata={"hdi_isfolder": "true"})
    with contextlib.closing(AzureStore(azure_container, "t", azurite.settings(), RestlessAmbient())) as store:
        store.put("folder/k", b"")
        assert [info.key for info in store.list()] == ["folder/k"]
        assert (store.list_folder().objects, store.list_folder().folders) == ((), ("folder/",))
        assert store.head("folder") is None


def test_a_missing_blob_is_object_missing() -> None:
    with answering(refusal(404, "BlobNotFound")) as (store, _), pytest.raises(ObjectMissing):
        store.get("k")


def test_a_listing_holds_what_is_kept_of_a_blob_and_not_all_that_the_service_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Break: `list` makes a list of the service's answers first."""
    told: list[weakref.ref[BlobProperties]] = []
    most = 0

    def blobs(*_: Any, **__: Any) -> Iterator[BlobProperties]:
        nonlocal most
        for number in range(100):
            blob = BlobProperties(name=f"table/{number:03d}", metadata={})
            blob.size, blob.etag, blob.last_modified = number, "e", datetime(2026, 1, 1, tzinfo=UTC)
            told.append(weakref.ref(blob))
            most = max(most, sum(one() is not None for one in told))
            yield blob

    with opened("http://127.0.0.1:1") as store:
        monkeypatch.setattr(store._client, "list_blobs", blobs)
        assert [info.size for info in store.list(after="049")] == list(range(50, 100))
    assert most <= 3


def test_what_time_the_server_has_is_told_by_its_answers() -> None:
    date = "Mon, 01 Jan 2024 00:00:00 GMT"
    with answering(Answer(201, headers={"ETag": '"e"', "Last-Modified": date, "Date": date})) as (store, _):
        assert store.clock_ms() is None
        store.create("k", b"1")
        told_ms = store.clock_ms()
        assert told_ms is not None
        assert 0 <= told_ms - 1_704_067_200_000 < 600_000
