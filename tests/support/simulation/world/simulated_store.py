"""A store as one simulated process sees it: every call gives way before and after its effect, and may go wrong.

The objects lie in a `WitnessedStore` that all processes share; it tells the model of the table about every effect.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, Protocol, TypeVar, assert_never

from headgate_table.errors import StoreError
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome, Folder, ObjectInfo, Unknown
from support.simulation.world.faults import READ_FAULTS, WRITE_FAULTS, Fault, Faults
from support.simulation.world.scheduler import Died, Process
from support.stores.memory import MemoryStore

T = TypeVar("T")


class Witness(Protocol):
    """Who is told of effects."""

    def written(self, key: str, data: bytes) -> None: ...

    def deleted(self, key: str, modified_ms: int) -> None: ...


class WitnessedStore:
    """The objects themselves. Calls happen at once and never fail."""

    def __init__(self, inner: MemoryStore) -> None:
        self.inner = inner
        self.witness: Witness | None = None

    def put(self, key: str, data: bytes) -> None:
        self.inner.put(key, data)
        self._written(key, data)

    def create(self, key: str, data: bytes) -> CreateOutcome:
        return self._outcome(self.inner.create(key, data), key, data)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        return self._outcome(self.inner.swap(key, data, etag), key, data)

    def delete(self, key: str) -> None:
        info = self.inner.head(key)
        if info is None:
            return
        self.inner.delete([key])
        if self.witness is not None:
            self.witness.deleted(key, info.modified_ms)

    def _outcome(self, outcome: CreateOutcome, key: str, data: bytes) -> CreateOutcome:
        match outcome:
            case Created():
                self._written(key, data)
            case AlreadyExists() | Unknown():
                pass
            case _:
                assert_never(outcome)
        return outcome

    def _written(self, key: str, data: bytes) -> None:
        if self.witness is not None:
            self.witness.written(key, data)


class SimulatedStore:
    def __init__(self, shared: WitnessedStore, process: Process, faults: Faults) -> None:
        self._shared = shared
        self._objects = shared.inner
        self._process = process
        self._faults = faults

    @property
    def uri(self) -> str:
        return self._objects.uri

    @property
    def place(self) -> str:
        return self._objects.place

    @property
    def server(self) -> str | None:
        return self._objects.server

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        return self._read("get", key, lambda: self._objects.get(key, max_bytes=max_bytes))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self._read("get_range", key, lambda: self._objects.get_range(key, start, length))

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        return self._read("get_with_etag", key, lambda: self._objects.get_with_etag(key, max_bytes=max_bytes))

    def head(self, key: str) -> ObjectInfo | None:
        return self._read("head", key, lambda: self._objects.head(key))

    def put(self, key: str, data: bytes) -> None:
        self._write("put", key, lambda: self._shared.put(key, data), self._fail)

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        self.put(key, stream.read())

    def create(self, key: str, data: bytes) -> CreateOutcome:
        return self._write("create", key, lambda: self._shared.create(key, data), Unknown)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        return self._write("swap", key, lambda: self._shared.swap(key, data, etag), Unknown)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._write("delete", key, lambda key=key: self._shared.delete(key), self._fail)  # type: ignore[misc]  # bound per turn

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        size = self._faults.page_size()
        while True:
            last = after
            found = self._read("list", prefix, lambda last=last: list(self._objects.list(prefix, after=last)))  # type: ignore[misc]  # bound per turn
            yield from found[:size]
            if size is None or len(found) <= size:
                return
            after = found[size - 1].key

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        size = self._faults.page_size()
        objects: list[ObjectInfo] = []
        folders: list[str] = []
        while True:
            last = after
            found = self._read(
                "list_folder",
                prefix,
                lambda last=last: self._objects.list_folder(prefix, after=last),  # type: ignore[misc]  # bound per turn
            )
            keys = sorted([*(info.key for info in found.objects), *found.folders])
            page = set(keys[:size])
            objects += [info for info in found.objects if info.key in page]
            folders += [folder for folder in found.folders if folder in page]
            if size is None or len(keys) <= size:
                return Folder(tuple(objects), tuple(folders))
            after = keys[size - 1]

    def clock_ms(self) -> int | None:
        return self._objects.clock_ms()

    def local_path(self, key: str) -> str | None:
        return None

    def close(self) -> None:
        """Stays usable, as another process's store on the same place would."""

    def _fail(self, reason: str) -> None:
        raise StoreError(reason)

    def _read(self, operation: str, key: str, effect: Callable[[], T]) -> T:
        fault = self._begin(operation, key, READ_FAULTS)
        if fault is Fault.SLOW:
            self._process.sleep(self._faults.slow_s())
        elif fault is not None:
            raise self._no(operation, key)
        found = effect()
        self._end(operation, key)
        return found

    def _write(self, operation: str, key: str, effect: Callable[[], T], no_answer: Callable[[str], T]) -> T:
        fault = self._begin(operation, key, WRITE_FAULTS)
        reason = f"the answer to {operation} of {self.uri}/{key} was lost"
        match fault:
            case None:
                answer = effect()
            case Fault.SLOW:
                self._process.sleep(self._faults.slow_s())
                answer = effect()
            case Fault.REFUSED:
                raise self._no(operation, key)
            case Fault.LOST_REQUEST:
                answer = no_answer(reason)
            case Fault.LOST_ANSWER:
                effect()
                answer = no_answer(reason)
            case Fault.LATE:
                scheduler = self._process.scheduler
                scheduler.at(scheduler.now_ms + self._faults.late_by_ms(), lambda: self._arrive(operation, key, effect))
                answer = no_answer(reason)
            case Fault.TWICE:
                raise AssertionError("a write to a store happens once or never")
            case Fault.DIES_BEFORE | Fault.DIES_AFTER:
                if fault is Fault.DIES_AFTER:
                    effect()
                self._process.kill()
                raise Died(self._process.name)
            case _:
                assert_never(fault)
        self._end(operation, key)
        return answer

    def _arrive(self, operation: str, key: str, effect: Callable[[], object]) -> None:
        self._process.scheduler.note(self._process.name, f"late {operation} of {self._shown(key)} arrives")
        effect()

    def _begin(self, operation: str, key: str, possible: Sequence[Fault]) -> Fault | None:
        self._process.io(f"store.{operation}", self._shown(key), done=False)
        if self.uri in self._faults.outages:
            raise self._no(operation, key)
        fault = self._faults.draw(self._process, f"store.{operation}", key, possible)
        if fault is not None:
            self._note(f"{operation} {self._shown(key)}: {fault.value}")
            if possible is READ_FAULTS and fault is Fault.DIES_BEFORE:
                self._process.kill()
                raise Died(self._process.name)
        return fault

    def _end(self, operation: str, key: str) -> None:
        self._process.io(f"store.{operation}", self._shown(key), done=True)

    def _no(self, operation: str, key: str) -> StoreError:
        return StoreError(f"{self.uri} refused to {operation} {key}: try again later")

    def _note(self, what: str) -> None:
        self._process.scheduler.note(self._process.name, what)

    def _shown(self, key: str) -> str:
        return f"{self.uri.rpartition('/')[2]}/{shown(key)}"


def shown(key: str) -> str:
    """Keys of the log, short enough for a line of a trace."""
    name = key.removeprefix("_transaction_log/")
    if name[:20].isdigit():
        return f"v{int(name[:20])}{name[20:].removesuffix('.json')}"
    if name.startswith("state-v") and name[7:27].isdigit():
        return f"state {int(name[7:27])}"
    return name
