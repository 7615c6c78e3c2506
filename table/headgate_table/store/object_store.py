"""The shared part of the stores in S3 and in Azure: names below a prefix, and the retries of reads and conditional
writes. The subclasses send the requests.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from headgate_schemas.ambient import Ambient
from headgate_table.errors import StoreError
from headgate_table.store.backoff import trying_again
from headgate_table.store.interface import CreateOutcome
from headgate_table.store.paths import check_key
from headgate_table.store.reopening import Reopening, reopened
from headgate_table.store.server_clock import ServerClock
from headgate_table.store.settings import StoreSettings

CONFLICT_ATTEMPTS = 10
READ_ATTEMPTS = 3

T = TypeVar("T")


class WriteConflict(Exception):
    """A conditional write was refused for the moment and had no effect."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        super().__init__(str(cause))


class ObjectStore(ABC):
    """A store below a prefix of a bucket, which Azure calls a container."""

    _failures: ClassVar[type[Exception] | tuple[type[Exception], ...]]
    """All that a call of the client raises."""
    _read_again: ClassVar[tuple[type[Exception], ...]]
    """A body that broke off half-way."""
    _delete_batch: ClassVar[int]
    """How many keys one request deletes."""

    _client: Any
    _once: Any
    """For conditional writes: it never retries, because a retry would report our own write as a conflict."""

    def __init__(self, root: str, prefix: str, settings: StoreSettings, ambient: Ambient, uri: str | None) -> None:
        self._base = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._uri = (uri if uri is not None else f"{root}/{self._base}").rstrip("/")
        self._settings = settings
        self._ambient = ambient
        self._clock = ServerClock(ambient)

    def __reduce__(self) -> Reopening:
        return reopened, (self._uri, self._settings)

    @property
    def uri(self) -> str:
        return self._uri

    @property
    def place(self) -> str:
        return f"{self.server}/{self._base}".rstrip("/")

    @property
    @abstractmethod
    def server(self) -> str | None: ...

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        return self._fetch(key, max_bytes=max_bytes)[0]

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        return self._fetch(key, max_bytes=max_bytes)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        try:
            return self._fetch(key, span=(start, length))[0]
        except StoreError as error:
            if self._status(error.__cause__) == 416:
                return b""  # the range begins at or beyond the end
            raise

    def delete(self, keys: Iterable[str]) -> None:
        remaining = iter(keys)
        while batch := [check_key(key) for key in itertools.islice(remaining, self._delete_batch)]:
            self._asking("delete", batch[0], self._delete_all, batch)

    def clock_ms(self) -> int | None:
        return self._clock.now_ms()

    def local_path(self, key: str) -> str | None:
        return None

    def close(self) -> None:
        self._client.close()
        self._once.close()

    @abstractmethod
    def _read(self, key: str, max_bytes: int | None, span: tuple[int, int] | None) -> tuple[bytes, str]:
        """The bytes and the etag, by one request. `span` is the first byte and the length; None for all."""

    @abstractmethod
    def _write_once(self, key: str, data: bytes, doing: str, condition: dict[str, Any]) -> CreateOutcome:
        """One conditional request. Raises `WriteConflict` where it should be repeated."""

    @abstractmethod
    def _delete_all(self, keys: Sequence[str]) -> None:
        """Delete them by one request. Missing objects are no error."""

    @abstractmethod
    def _status(self, error: BaseException | None) -> int | None:
        """The status of an answer; None for an error without an answer."""

    @abstractmethod
    def _failure(self, error: Any, doing: str, key: str) -> StoreError: ...

    def _name(self, key: str) -> str:
        return self._base + check_key(key)

    def _asking(self, doing: str, key: str, ask: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
        """One call of the client, or of a retry. `doing` and `key` are for the message of its failure."""
        try:
            return ask(*arguments, **named)
        except self._failures as error:
            raise self._failure(error, doing, key) from error

    def _fetch(
        self, key: str, *, max_bytes: int | None = None, span: tuple[int, int] | None = None
    ) -> tuple[bytes, str]:
        reading = trying_again(
            self._ambient, self._read_again, attempts=READ_ATTEMPTS, first_pause_s=0.1, longest_pause_s=2.0
        )
        return self._asking("read", key, lambda: reading(self._read, key, max_bytes, span))

    def _too_large(self, key: str, max_bytes: int) -> StoreError:
        return StoreError(f"{self._uri}/{key} is larger than the {max_bytes} bytes it may have")

    def _write_if(self, key: str, data: bytes, doing: str, **condition: Any) -> CreateOutcome:
        conflicts = trying_again(
            self._ambient, WriteConflict, attempts=CONFLICT_ATTEMPTS, first_pause_s=0.02, longest_pause_s=1.0
        )
        try:
            return conflicts(self._write_once, key, data, doing, condition)
        except WriteConflict as conflict:
            raise self._failure(conflict.cause, doing, key) from conflict.cause
