"""A store in an S3 bucket, through boto3. `errors` has the meaning of its failures."""

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from boto3.s3.transfer import TransferConfig
from botocore import exceptions as boto
from botocore.config import Config
from botocore.handlers import add_expect_header

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome, Folder, ObjectInfo, Unknown
from headgate_table.store.object_store import ObjectStore, WriteConflict
from headgate_table.store.paths import check_folder, check_prefix, is_key
from headgate_table.store.s3 import errors as s3_errors
from headgate_table.store.s3.session import new_session
from headgate_table.store.settings import StoreSettings

MULTIPART_BYTES = 16 * 1024 * 1024
"""A put above this is sent in parts of this size."""
STREAM_PART_BYTES = 8 * 1024 * 1024
"""Of a stream. boto3 holds up to ten parts in memory, and makes them larger where there would be too many."""
STREAM_PARTS_AT_ONCE = 4
MAX_CREATE_BYTES = 5 * 1024**3
"""One PUT takes no more, and only a single PUT can be conditional."""
MAX_CONNECTIONS = 64
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 10


class S3Store(ObjectStore):
    _failures = s3_errors.FAILURES
    _read_again = s3_errors.READ_AGAIN
    _delete_batch = 1000

    def __init__(
        self,
        bucket: str,
        prefix: str,
        settings: StoreSettings,
        ambient: Ambient,
        *,
        uri: str | None = None,
        max_create_bytes: int = MAX_CREATE_BYTES,
    ) -> None:
        super().__init__(f"s3://{bucket}", prefix, settings, ambient, uri)
        self._bucket = bucket
        self._max_create_bytes = max_create_bytes
        self._bucket_was_seen = False
        # Directory buckets list in no order and take no StartAfter. Some other servers order by folder (SeaweedFS).
        self._takes_start_after = not bucket.endswith("--x-s3")
        self._lists_in_byte_order = settings.s3_endpoint is None and self._takes_start_after
        try:
            session = new_session(settings)
            self._client = _client(session, settings, attempts=3)
            self._once = _client(session, settings, attempts=1)
            for client in (self._client, self._once):
                client.meta.events.register("after-call.s3", self._heard)
        except (boto.BotoCoreError, ValueError) as error:
            raise StoreError(
                f"{self._uri} can't be opened with these settings: {error}. Check the s3.* settings"
            ) from error
        self._place = s3_errors.ObjectPlace(
            self._uri, bucket, str(self._client.meta.endpoint_url), str(self._client.meta.region_name)
        )

    @property
    def server(self) -> str | None:
        return f"{self._place.endpoint} {self._bucket}"

    def put(self, key: str, data: bytes) -> None:
        if len(data) <= MULTIPART_BYTES:
            self._asking("write", key, self._client.put_object, Bucket=self._bucket, Key=self._name(key), Body=data)
        else:
            config = TransferConfig(multipart_threshold=MULTIPART_BYTES, multipart_chunksize=MULTIPART_BYTES)
            self._upload(key, io.BytesIO(data), config)

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        config = TransferConfig(
            multipart_threshold=STREAM_PART_BYTES,
            multipart_chunksize=STREAM_PART_BYTES,
            max_concurrency=STREAM_PARTS_AT_ONCE,
        )
        self._upload(key, stream, config)

    def create(self, key: str, data: bytes) -> CreateOutcome:
        return self._write_if(key, data, "create", IfNoneMatch="*")

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        return self._write_if(key, data, "write", IfMatch=etag)

    def head(self, key: str) -> ObjectInfo | None:
        try:
            answer = self._asking("look up", key, self._client.head_object, Bucket=self._bucket, Key=self._name(key))
        except ObjectMissing:
            self._check_bucket()
            return None
        size, modified, etag = (self._part(answer, part, key) for part in ("ContentLength", "LastModified", "ETag"))
        return ObjectInfo(key, int(size), _ms(modified), str(etag))

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        """Page by page on AWS. For other servers all pages are read first, because they may not list in byte order."""
        check_prefix(prefix)
        found = self._found(prefix, after)
        if self._lists_in_byte_order:
            return self._checked_order(found)
        return iter(sorted(found, key=lambda info: info.key))

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        check_folder(prefix)
        extra = {"Delimiter": "/"}
        lower_bound = _before_any_order(after, prefix)
        if lower_bound and self._takes_start_after:
            extra["StartAfter"] = self._base + lower_bound
        objects: list[ObjectInfo] = []
        folders: set[str] = set()
        for page in self._pages(prefix, **extra):
            objects.extend(info for info in self._infos(page) if info.key > after)
            for common in page.get("CommonPrefixes", ()):
                folder = str(common["Prefix"]).removeprefix(self._base)
                if folder > after and is_key(folder.removesuffix("/")):
                    folders.add(folder)
        return Folder(tuple(sorted(objects, key=lambda info: info.key)), tuple(sorted(folders)))

    def _heard(self, http_response: Any, **_: object) -> None:
        self._clock.heard(http_response.headers.get("Date"))

    def _upload(self, key: str, stream: BinaryIO, config: TransferConfig) -> None:
        self._asking("write", key, self._client.upload_fileobj, stream, self._bucket, self._name(key), Config=config)

    def _read(self, key: str, max_bytes: int | None, span: tuple[int, int] | None) -> tuple[bytes, str]:
        extra = {} if span is None else {"Range": f"bytes={span[0]}-{sum(span) - 1}"}
        answer = self._client.get_object(Bucket=self._bucket, Key=self._name(key), **extra)
        with contextlib.closing(answer["Body"]) as body:
            if max_bytes is not None and int(self._part(answer, "ContentLength", key)) > max_bytes:
                raise self._too_large(key, max_bytes)
            return body.read(), str(self._part(answer, "ETag", key))

    def _write_once(self, key: str, data: bytes, doing: str, condition: dict[str, Any]) -> CreateOutcome:
        name = self._name(key)
        if len(data) > self._max_create_bytes:
            raise InvalidInput(
                f"could not {doing} {self._uri}/{key}: it has {len(data)} bytes, and a conditional write to S3 takes "
                f"at most {self._max_create_bytes}. Write smaller objects"
            )
        try:
            answer = self._once.put_object(Bucket=self._bucket, Key=name, Body=data, **condition)
        except boto.ClientError as error:
            status, code = s3_errors.status_and_code(error)
            if status == 412:
                return AlreadyExists()
            if status == 404 and "IfMatch" in condition and code != "NoSuchBucket":
                return AlreadyExists()  # the object to replace is gone
            if status == 429 or (status == 409 and code in s3_errors.RETRYABLE_CONFLICTS):
                raise WriteConflict(error) from error
            if s3_errors.is_unknown(error):
                return Unknown(f"{self._place.endpoint} answered {status} {code} to the write of {self._uri}/{key}")
            raise self._failure(error, doing, key) from error
        except s3_errors.FAILURES as error:
            if s3_errors.is_unknown(error):
                return Unknown(f"{self._place.endpoint} gave no answer to the write of {self._uri}/{key}: {error}")
            raise self._failure(error, doing, key) from error
        if not answer.get("ETag"):
            return Unknown(f"{self._place.endpoint} cut its answer to the write of {self._uri}/{key} short")
        return Created(str(answer["ETag"]), seen_etag=str(answer["ETag"]))

    def _delete_all(self, keys: Sequence[str]) -> None:
        names = [{"Key": self._base + key} for key in keys]
        answer = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": names, "Quiet": True})
        failed = [error for error in answer.get("Errors", ()) if error.get("Code") != "NoSuchKey"]
        if failed:
            first = failed[0]
            key = str(first.get("Key", "")).removeprefix(self._base)
            raise StoreError(
                f"could not delete {self._uri}/{key} ({first.get('Code')}: {first.get('Message')}), nor "
                f"{len(failed) - 1} others of {len(keys)}. Check that the credentials allow s3:DeleteObject"
            )

    def _found(self, prefix: str, after: str) -> Iterator[ObjectInfo]:
        extra = {"StartAfter": self._base + after} if after and self._lists_in_byte_order else {}
        for page in self._pages(prefix, **extra):
            yield from (info for info in self._infos(page) if info.key > after)

    def _checked_order(self, found: Iterator[ObjectInfo]) -> Iterator[ObjectInfo]:
        last = ""
        for info in found:
            if info.key <= last:
                raise StoreError(
                    f"{self._uri} lists {info.key!r} after {last!r}: set s3.endpoint, so that listings are sorted"
                )
            last = info.key
            yield info

    def _pages(self, prefix: str, **extra: str) -> Iterator[Any]:
        token: dict[str, str] = {}
        while True:
            request = {"Bucket": self._bucket, "Prefix": self._base + prefix, **extra, **token}
            page = self._asking("list", prefix, self._client.list_objects_v2, **request)
            self._part(page, "IsTruncated", prefix)
            yield page
            following = page.get("NextContinuationToken")
            if not page.get("IsTruncated") or not following:
                return
            if token.get("ContinuationToken") == following:
                raise StoreError(
                    f"{self._place.endpoint} lists {self._uri}/{prefix} in a circle; report it to its makers"
                )
            token = {"ContinuationToken": str(following)}

    def _infos(self, page: Any) -> Iterator[ObjectInfo]:
        for item in page.get("Contents", ()):
            key = str(item["Key"]).removeprefix(self._base)
            # Left out: folder markers, which end in "/", and names that no path of a table can have.
            if is_key(key):
                yield ObjectInfo(key, int(item["Size"]), _ms(item["LastModified"]), str(item["ETag"]))

    def _check_bucket(self) -> None:
        """The answer to a HEAD has no body, so it doesn't show that the whole bucket is missing. Checked once."""
        if self._bucket_was_seen:
            return
        try:
            self._client.head_bucket(Bucket=self._bucket)
        except boto.ClientError as error:
            if s3_errors.status_and_code(error)[0] == 404:
                raise StoreError(
                    f"there is no bucket {self._bucket!r} at {self._place.endpoint}. Create it, or correct the address"
                ) from error
            # The right to read objects doesn't include the right to look up the bucket.
        except s3_errors.FAILURES as error:
            raise self._failure(error, "look up", "") from error
        self._bucket_was_seen = True

    def _part(self, answer: Any, name: str, key: str) -> Any:
        """A part of every answer of S3: if it is missing, something between us and the server has answered."""
        if name not in answer:
            raise StoreError(
                f"{self._place.endpoint} answered to {self._uri}/{key} in a way that S3 doesn't ({name} is missing). Check "
                "s3.endpoint, and proxies on the way"
            )
        return answer[name]

    def _status(self, error: BaseException | None) -> int | None:
        return s3_errors.status_and_code(error)[0] if isinstance(error, boto.ClientError) else None

    def _failure(self, error: Exception, doing: str, key: str) -> StoreError:
        return s3_errors.failure(error, doing, key, self._place)


def _client(session: Any, settings: StoreSettings, *, attempts: int) -> Any:
    path_style = settings.s3_endpoint is not None if settings.s3_path_style is None else settings.s3_path_style
    options: dict[str, Any] = {}
    region = None
    if settings.s3_endpoint is not None:
        # Servers other than AWS don't all support the newer checksums, and ignore the region.
        options = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
        region = session.region_name or "us-east-1"
    config = Config(
        retries={"total_max_attempts": attempts, "mode": "standard"},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        max_pool_connections=MAX_CONNECTIONS,
        s3={"addressing_style": "path" if path_style else "auto"},
        **options,
    )
    client = session.client("s3", endpoint_url=settings.s3_endpoint, region_name=region, config=config)
    # A proxy that doesn't answer "Expect: 100-continue" costs a second with every write.
    client.meta.events.unregister("before-call.s3", add_expect_header)
    return client


def _ms(moment: Any) -> int:
    return int(moment.timestamp() * 1000)


def _before_any_order(after: str, prefix: str) -> str:
    """A key below `after` in byte order and in the order of servers that sort folders by name without their "/".

    The two orders differ only after a character that sorts before "/"; so cut there, and one character earlier, for a
    folder with exactly the remaining name.
    """
    if not after.startswith(prefix):
        return ""
    name = after[len(prefix) :].partition("/")[0]
    cut = next((index for index, character in enumerate(name) if character < "/"), len(name))
    return prefix + name[: cut - 1] if cut > 1 else ""
