"""A store in a container of Azure Blob Storage. `errors` has the meaning of its failures, `login` the credentials."""

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, HttpResponseError
from azure.storage.blob import BlobPrefix, BlobProperties

from headgate_schemas.ambient import Ambient
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.azure import errors as azure_errors
from headgate_table.store.azure.login import container_client
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome, Folder, ObjectInfo, Unknown
from headgate_table.store.object_store import ObjectStore, WriteConflict
from headgate_table.store.paths import check_folder, check_prefix, is_key
from headgate_table.store.settings import StoreSettings

RETRIES = 3
_FOLDER_MARK = "hdi_isfolder"
"""Metadata of the empty blobs that stand for folders in accounts with hierarchical namespace."""


class AzureStore(ObjectStore):
    _failures = AzureError
    _read_again = azure_errors.READ_AGAIN
    _delete_batch = 256

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
        super().__init__(f"az://{container}", prefix, settings, ambient, uri)
        self._client, self._once = (
            container_client(container, settings, self._uri, account_url, retries=retries, heard=self._heard)
            for retries in (RETRIES, 0)
        )
        self._place = azure_errors.BlobPlace(self._uri, container, self._client.url.partition("?")[0])

    @property
    def server(self) -> str | None:
        return self._place.endpoint

    def put(self, key: str, data: bytes) -> None:
        self._asking("write", key, self._client.upload_blob, self._name(key), data, overwrite=True)

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        self._asking("write", key, self._client.upload_blob, self._name(key), stream, overwrite=True)

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

    def _heard(self, answer: Any) -> None:
        self._clock.heard(answer.http_response.headers.get("Date"))

    def _read(self, key: str, max_bytes: int | None, span: tuple[int, int] | None) -> tuple[bytes, str]:
        # The first 32 MiB come with the answer that has the size; a retry here would hide the real failure.
        download = self._client.download_blob(self._name(key), *(span or ()))
        if max_bytes is not None and download.size > max_bytes:
            raise self._too_large(key, max_bytes)
        return download.readall(), str(download.properties.etag)

    def _write_once(self, key: str, data: bytes, doing: str, condition: dict[str, Any]) -> CreateOutcome:
        try:
            answer = self._once.get_blob_client(self._name(key)).upload_blob(data, **condition)
        except AzureError as error:
            status, code = self._status(error), azure_errors.code_of(error)
            if code == "BlobAlreadyExists" or (status == 412 and "Lease" not in code):
                return AlreadyExists()
            if status == 404 and "etag" in condition and code not in azure_errors.CONTAINER_UNUSABLE:
                return AlreadyExists()  # the object to replace is gone
            if status == 429 or (status == 409 and code in azure_errors.RETRYABLE_CONFLICTS):
                raise WriteConflict(error) from error
            if azure_errors.is_unknown(error):
                return Unknown(
                    f"{self._place.endpoint} gave no answer to the write of {self._uri}/{key}: {error.message}"
                )
            raise self._failure(error, doing, key) from error
        return Created(str(answer["etag"]), seen_etag=str(answer["etag"]).strip('"'))

    def _delete_all(self, keys: Sequence[str]) -> None:
        names = [self._base + key for key in keys]
        answers = self._client.delete_blobs(*names, delete_snapshots="include", raise_on_any_failure=False)
        for key, answer in zip(keys, answers, strict=True):
            status, code = answer.status_code, str(answer.headers.get("x-ms-error-code", ""))
            absent = status == 404 and code not in azure_errors.CONTAINER_UNUSABLE
            if status >= 300 and not absent:
                raise azure_errors.refusal(status, code, "", "delete", key, self._place)

    def _status(self, error: BaseException | None) -> int | None:
        return error.status_code if isinstance(error, HttpResponseError) else None

    def _failure(self, error: AzureError, doing: str, key: str) -> StoreError:
        return azure_errors.failure(error, doing, key, self._place)

    def _listed(self, blob: BlobProperties) -> ObjectInfo | None:
        key = str(blob.name).removeprefix(self._base)
        return _info(key, blob) if is_key(key) and not _is_folder(blob) else None


def _is_folder(blob: BlobProperties) -> bool:
    return str((blob.metadata or {}).get(_FOLDER_MARK, "")).lower() == "true"


def _info(key: str, blob: BlobProperties) -> ObjectInfo:
    # A listing has the etag without the quotes of a single answer.
    etag = str(blob.etag).strip('"')
    return ObjectInfo(key, int(blob.size or 0), int(blob.last_modified.timestamp() * 1000), etag)
