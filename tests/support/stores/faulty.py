"""A wrapper that makes any store fail, lose answers, die or list badly, by plan; and counts what was asked of it.

Every call is one step, except that `delete` is one step a key, as each could be the last thing a process does.
"""

import enum
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TypeVar, assert_never

from headgate_table.errors import StoreError
from headgate_table.store.interface import CreateOutcome, Folder, ObjectInfo, Store, Unknown

T = TypeVar("T")

WRITES = ("put", "create", "swap", "delete")


class StepKill(BaseException):
    """The process ended here. Not an `Exception`, so no handler of failures can survive it."""

    def __init__(self, step: "Step") -> None:
        self.step = step
        super().__init__(str(step))


class Fault(enum.Enum):
    """What goes wrong at a step. `create` and `swap` answer a lost request or answer with `Unknown`, others raise."""

    REFUSED = "a StoreError; nothing happened"
    LOST_REQUEST = "no answer; nothing happened"
    LOST_ANSWER = "no answer, but it happened"
    LATE = "no answer; it happens when `deliver_late` is called"
    KILL_BEFORE = "the process dies before the effect"
    KILL_AFTER = "the process dies after the effect"


@dataclass(frozen=True, slots=True)
class Step:
    """One call: its number from 1, the method's name, and its key or prefix."""

    number: int
    operation: str
    key: str

    @property
    def writes(self) -> bool:
        return self.operation in WRITES


Plan = Callable[[Step], Fault | None]


def no_faults(step: Step) -> Fault | None:
    return None


def at(number: int, fault: Fault) -> Plan:
    """The fault at the step of that number."""
    return lambda step: fault if step.number == number else None


def on(operation: str, fault: Fault, *, key: str = "", times: int = 1) -> Plan:
    """The fault at the first `times` calls of that method whose key contains `key`."""
    left = times

    def plan(step: Step) -> Fault | None:
        nonlocal left
        if left == 0 or step.operation != operation or key not in step.key:
            return None
        left -= 1
        return fault

    return plan


class FaultyStore:
    """`steps`, `count` and `byte_count` tell what was asked. After a kill every further call dies, too.

    `unseen_for` hides an object from listings for that many steps after its last write through this wrapper.
    `reorder` may return what was listed in any order, or less of it.
    """

    def __init__(
        self,
        inner: Store,
        plan: Plan = no_faults,
        *,
        unseen_for: int = 0,
        reorder: Callable[[Sequence[ObjectInfo]], Sequence[ObjectInfo]] | None = None,
    ) -> None:
        self.inner = inner
        self.plan = plan
        self.unseen_for = unseen_for
        self.reorder = reorder
        self.steps: list[Step] = []
        self._bytes: Counter[str] = Counter()
        self._written_at: dict[str, int] = {}
        self._late: list[Callable[[], object]] = []
        self._killed: Step | None = None
        self._lock = threading.Lock()

    @property
    def uri(self) -> str:
        return self.inner.uri

    def count(self, *operations: str) -> int:
        """How many steps there were of these methods; of all without a name."""
        with self._lock:
            return sum(not operations or step.operation in operations for step in self.steps)

    def byte_count(self, *operations: str) -> int:
        """How many bytes these methods carried, in or out; all without a name."""
        with self._lock:
            return sum(size for name, size in self._bytes.items() if not operations or name in operations)

    def deliver_late(self) -> int:
        """Let the requests of `Fault.LATE` arrive, in order. Returns how many there were."""
        with self._lock:
            late, self._late = self._late, []
        for effect in late:
            effect()
        return len(late)

    @property
    def place(self) -> str:
        return self.inner.place

    @property
    def server(self) -> str | None:
        return self.inner.server

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        return self._carried("get", self._run("get", key, lambda: self.inner.get(key, max_bytes=max_bytes)))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        data = self._run("get_range", key, lambda: self.inner.get_range(key, start, length))
        return self._carried("get_range", data)

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        data, etag = self._run("get_with_etag", key, lambda: self.inner.get_with_etag(key, max_bytes=max_bytes))
        return self._carried("get_with_etag", data), etag

    def put(self, key: str, data: bytes) -> None:
        self._carried("put", data)
        self._run("put", key, lambda: self.inner.put(key, data))

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        """A step like any other `put`."""
        self.put(key, stream.read())

    def create(self, key: str, data: bytes) -> CreateOutcome:
        self._carried("create", data)
        return self._run("create", key, lambda: self.inner.create(key, data), unknown=Unknown)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        self._carried("swap", data)
        return self._run("swap", key, lambda: self.inner.swap(key, data, etag), unknown=Unknown)

    def head(self, key: str) -> ObjectInfo | None:
        return self._run("head", key, lambda: self.inner.head(key))

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        return iter(self._shown(self._run("list", prefix, lambda: tuple(self.inner.list(prefix, after=after)))))

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        folder = self._run("list_folder", prefix, lambda: self.inner.list_folder(prefix, after=after))
        return Folder(tuple(self._shown(folder.objects)), folder.folders)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._run("delete", key, lambda key=key: self.inner.delete([key]))  # type: ignore[misc]  # bound per turn

    def clock_ms(self) -> int | None:
        return self.inner.clock_ms()

    def local_path(self, key: str) -> str | None:
        return self.inner.local_path(key)

    def close(self) -> None:
        self.inner.close()

    def _run(
        self, operation: str, key: str, effect: Callable[[], T], *, unknown: Callable[[str], T] | None = None
    ) -> T:
        with self._lock:
            if self._killed is not None:
                raise StepKill(self._killed)
            step = Step(len(self.steps) + 1, operation, key)
            self.steps.append(step)
            fault = self.plan(step)
            if step.writes:
                self._written_at[key] = step.number

        def no_answer() -> T:
            reason = f"the answer to step {step.number}, {operation} of {self.uri}/{key}, was lost"
            if unknown is None:
                raise StoreError(reason)
            return unknown(reason)

        match fault:
            case None:
                return effect()
            case Fault.REFUSED:
                raise StoreError(f"{self.uri} refused step {step.number}, {operation} of {key}")
            case Fault.LOST_REQUEST:
                return no_answer()
            case Fault.LOST_ANSWER:
                effect()
                return no_answer()
            case Fault.LATE:
                with self._lock:
                    self._late.append(effect)
                return no_answer()
            case Fault.KILL_BEFORE:
                self._kill(step)
            case Fault.KILL_AFTER:
                effect()
                self._kill(step)
            case _:
                assert_never(fault)
        raise StepKill(step)

    def _kill(self, step: Step) -> None:
        with self._lock:
            self._killed = step

    def _carried(self, operation: str, data: bytes) -> bytes:
        with self._lock:
            self._bytes[operation] += len(data)
        return data

    def _shown(self, listed: Sequence[ObjectInfo]) -> Sequence[ObjectInfo]:
        with self._lock:
            now = len(self.steps)
            written = dict(self._written_at)
        seen = [
            info
            for info in listed
            if now - written.get(info.key, -self.unseen_for) > self.unseen_for or not self.unseen_for
        ]
        return self.reorder(seen) if self.reorder else seen
