"""A store in a container of Azure Blob Storage.

`errors` has the meaning of its failures, `login` the credentials.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, HttpResponseError
from azure.storage.blob import BlobPrefix, BlobProperties

from headgate_schemas.ambient import Ambient
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.azure import errors as azure_errors
from headgate_table.store.azure.login import container_client
from headgate_table.store.backoff import trying_again
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome, Folder, ObjectInfo, Unknown
from headgate_table.store.paths import check_folder, check_key, check_prefix, is_key
from headgate_table.store.reopening import Reopening, reopened
from headgate_table.store.server_clock import ServerClock
from headgate_table.store.settings import StoreSettings

DELETE_BATCH = 256
CONFLICT_ATTEMPTS = 10
READ_ATTEMPTS = 3
RETRIES = 3
_FOLDER_MARK = "hdi_isfolder"
"""Metadata of the empty blobs that stand for folders in accounts with hierarchical namespace."""

T = TypeVar("T")


class _Conflict(Exception):
    """A conditional write was refused for the moment and had no effect."""

    def __init__(self, cause: AzureError) -> None:
        self.cause = cause
        super().__init__(str(cause))


class AzureStore:
    """Conditional writes use a client that never retries: a retry would report our own write as a conflict."""

    def __init__(
        self,
        container: str,
        prefix: str,
        settings: StoreSettings,
        ambient: Ambient,
        *,
        uri: str | None = None,
        account_url: str | None = None,
    ) -> None:
        self._base = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._uri = (uri if uri is not None else f"az://{container}/{self._base}").rstrip("/")
        self._ambient = ambient
        self._settings = settings
        self._clock = ServerClock(ambient)
        self._client, self._once = (
            container_client(container, settings, self._uri, account_url, retries=retries, heard=self._heard)
            for retries in (RETRIES, 0)
        )
        self._place = azure_errors.BlobPlace(self._uri, container, self._client.url.partition("?")[0])

    def __reduce__(self) -> Reopening:
        return reopened, (self._uri, self._settings)

    @property
    def uri(self) -> str:
        return self._uri

    @property
    def place(self) -> str:
        return f"{self.server}/{self._base}".rstrip("/")

    @property
    def server(self) -> str | None:
        return self._client.url.partition("?")[0]

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        return self._fetch(key, max_bytes=max_bytes)[0]

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        return self._fetch(key, max_bytes=max_bytes)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        try:
            return self._fetch(key, offset=start, length=length)[0]
        except StoreError as error:
            cause = error.__cause__
            if isinstance(cause, HttpResponseError) and cause.status_code == 416:
                return b""  # the range begins at or beyond the end
            raise

    def put(self, key: str, data: bytes) -> None:
        name = self._name(key)
        self._asking("write", key, lambda: self._client.upload_blob(name, data, overwrite=True))

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        name = self._name(key)
        self._asking("write", key, lambda: self._client.upload_blob(name, stream, overwrite=True))

    def create(self, key: str, data: bytes) -> CreateOutcome:
        return self._write_if(key, data, "create", overwrite=False)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        return self._write_if(
            key, data, "write", overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified
        )

    def head(self, key: str) -> ObjectInfo | None:
        blob = self._client.get_blob_client(self._name(key))
        try:
            properties = self._asking("look up", key, blob.get_blob_properties)
        except ObjectMissing:
            return None
        return None if _is_folder(properties) else _info(key, properties)

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        """All pages are read first: accounts with hierarchical namespace list by folder, not in byte order."""
        start = self._base + check_prefix(prefix)

        def ask() -> Sequence[ObjectInfo]:
            # One by one: the service's description of a blob is much larger than the kept part.
            infos = (self._listed(blob) for blob in self._client.list_blobs(start, include=["metadata"]))
            return [info for info in infos if info is not None and info.key > after]

        return iter(sorted(self._asking("list", prefix, ask), key=lambda info: info.key))

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        start = self._base + check_folder(prefix)
        objects: list[ObjectInfo] = []
        folders: set[str] = set()

        def ask() -> None:
            for item in self._client.walk_blobs(start, include=["metadata"]):
                if isinstance(item, BlobPrefix):
                    folder = str(item.name).removeprefix(self._base)
                    if folder > after and is_key(folder.removesuffix("/")):
                        folders.add(folder)
                elif (info := self._listed(item)) is not None and info.key > after:
                    objects.append(info)

        self._asking("list", prefix, ask)
        return Folder(tuple(sorted(objects, key=lambda info: info.key)), tuple(sorted(folders)))

    def delete(self, keys: Iterable[str]) -> None:
        remaining = iter(keys)
        while batch := [check_key(key) for key in itertools.islice(remaining, DELETE_BATCH)]:
            names = [self._base + key for key in batch]
            answers = self._asking("delete", batch[0], partial(self._delete_batch, names))
            for key, (status, code) in zip(batch, answers, strict=True):
                absent = status == 404 and code not in azure_errors.CONTAINER_UNUSABLE
                if status >= 300 and not absent:
                    raise azure_errors.refusal(status, code, "", "delete", key, self._place)

    def clock_ms(self) -> int | None:
        return self._clock.now_ms()

    def local_path(self, key: str) -> str | None:
        return None

    def close(self) -> None:
        self._client.close()
        self._once.close()

    def _heard(self, answer: Any) -> None:
        self._clock.heard(answer.http_response.headers.get("Date"))

    def _name(self, key: str) -> str:
        return self._base + check_key(key)

    def _delete_batch(self, names: Sequence[str]) -> Sequence[tuple[int, str]]:
        answers = self._client.delete_blobs(*names, delete_snapshots="include", raise_on_any_failure=False)
        return [(answer.status_code, str(answer.headers.get("x-ms-error-code", ""))) for answer in answers]

    def _fetch(
        self, key: str, *, max_bytes: int | None = None, offset: int | None = None, length: int | None = None
    ) -> tuple[bytes, str]:
        name = self._name(key)
        reading = trying_again(
            self._ambient, azure_errors.READ_AGAIN, attempts=READ_ATTEMPTS, first_pause_s=0.1, longest_pause_s=2.0
        )

        def read() -> tuple[bytes, str]:
            # The first 32 MiB come with the answer that has the size; a retry here would hide the real failure.
            download = self._client.download_blob(name, offset, length)
            if max_bytes is not None and download.size > max_bytes:
                raise StoreError(f"{self._uri}/{key} is larger than the {max_bytes} bytes it may have")
            return download.readall(), str(download.properties.etag)

        return self._asking("read", key, lambda: reading(read))

    def _write_if(self, key: str, data: bytes, doing: str, **condition: Any) -> CreateOutcome:
        name = self._name(key)
        conflicts = trying_again(
            self._ambient, _Conflict, attempts=CONFLICT_ATTEMPTS, first_pause_s=0.02, longest_pause_s=1.0
        )
        try:
            return conflicts(lambda: self._write_once(key, name, data, doing, condition))
        except _Conflict as conflict:
            raise azure_errors.failure(conflict.cause, doing, key, self._place) from conflict.cause

    def _write_once(self, key: str, name: str, data: bytes, doing: str, condition: dict[str, Any]) -> CreateOutcome:
        try:
            answer = self._once.get_blob_client(name).upload_blob(data, **condition)
        except AzureError as error:
            code = azure_errors.code_of(error)
            status = error.status_code if isinstance(error, HttpResponseError) else None
            if code == "BlobAlreadyExists" or (status == 412 and "Lease" not in code):
                return AlreadyExists()
            if status == 404 and "etag" in condition and code not in azure_errors.CONTAINER_UNUSABLE:
                return AlreadyExists()  # the object to replace is gone
            if status == 429 or (status == 409 and code in azure_errors.RETRYABLE_CONFLICTS):
                raise _Conflict(error) from error
            if azure_errors.is_unknown(error):
                return Unknown(
                    f"{self._place.endpoint} gave no answer to the write of {self._uri}/{key}: {error.message}"
                )
            raise azure_errors.failure(error, doing, key, self._place) from error
        return Created(str(answer["etag"]), seen_etag=str(answer["etag"]).strip('"'))

    def _listed(self, blob: BlobProperties) -> ObjectInfo | None:
        key = str(blob.name).removeprefix(self._base)
        return _info(key, blob) if is_key(key) and not _is_folder(blob) else None

    def _asking(self, doing: str, key: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except AzureError as error:
            raise azure_errors.failure(error, doing, key, self._place) from error


def _is_folder(blob: BlobProperties) -> bool:
    return str((blob.metadata or {}).get(_FOLDER_MARK, "")).lower() == "true"


def _info(key: str, blob: BlobProperties) -> ObjectInfo:
    # A listing has the etag without the quotes of a single answer.
    etag = str(blob.etag).strip('"')
    return ObjectInfo(key, int(blob.size or 0), int(blob.last_modified.timestamp() * 1000), etag)
