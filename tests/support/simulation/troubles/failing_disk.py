"""A disk that refuses now and then to keep a name, below the real local store: whoever asks reads the file all the same, until a power
cut takes it away. Nobody may be told of a version before that which is gone after it.
"""

import errno
import os
import random
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO
from unittest.mock import patch

from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Append, Committed, Duplicate
from headgate_table.indextables.format.names import version_key
from headgate_table.store.interface import CreateOutcome, Folder, ObjectInfo
from headgate_table.store.local.doubts import PROCESS_DOUBTS
from headgate_table.store.local.store import LocalStore
from support.simulation.actors.operations import REGIONS, added_file
from support.simulation.actors.work import Crew
from support.simulation.judge.broken import InvariantBroken, must
from support.simulation.world.faults import CALM
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World
from support.stores.memory import MemoryStore
from support.tables import committer_of

DISK = "memory://lake/disk"
REFUSED = "disk: refuses to keep a name that can be read"
POWER_CUT = "disk: a power cut takes away what it refused to keep"
KINDS = (REFUSED, POWER_CUT)
"""By these names it is counted."""
CHANCE = 0.25
"""Of a run to have such a disk."""
WRITERS = 2
COMMITS = 4
REFUSES = 0.3
"""Of the syncs of a folder, while anything goes wrong."""
CUTS = 0.2
"""Of what the disk refuses to keep, to be followed by a power cut."""
CUT_WITHIN_S = 2.0
_sync, _link, _replace = os.fsync, os.link, os.replace


class Disk:
    """What the kernel shows, and what a power cut leaves of it. A sync that failed has dropped what it was asked for."""

    def __init__(self, now_ms: Callable[[], int], refuses: Callable[[], bool]) -> None:
        self._now_ms = now_ms
        self._refuses = refuses
        self._unsynced: set[str] = set()
        """Names that came since their folder was synced."""
        self._dropped: set[str] = set()
        """Names that can be read, and of which the disk knows nothing, however often their folder is synced."""

    @contextmanager
    def below(self) -> Iterator[None]:
        """For what happens here, this is the disk."""
        with ExitStack() as stack:
            for name, call in (("fsync", self._fsync), ("link", self._linked), ("replace", self._replaced)):
                stack.enter_context(patch.object(os, name, call))
            yield

    def cut_power(self) -> int:
        """How many names are gone by it."""
        gone = [path for path in self._unsynced | self._dropped if os.path.exists(path)]
        for path in gone:
            os.unlink(path)
        for path in self._unsynced | self._dropped:
            PROCESS_DOUBTS.discard(path)  # whoever comes next is another process
        self._unsynced.clear()
        self._dropped.clear()
        return len(gone)

    def _fsync(self, descriptor: int) -> None:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return
        folder = os.readlink(f"/proc/self/fd/{descriptor}")
        asked = {path for path in self._unsynced if os.path.dirname(path) == folder}
        self._unsynced -= asked
        if asked and self._refuses():
            self._dropped |= asked
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _linked(self, source: str, target: str, **options: bool) -> None:
        _link(source, target, **options)
        self._made(target)

    def _replaced(self, source: str, target: str) -> None:
        _replace(source, target)
        self._made(target)

    def _made(self, target: str) -> None:
        self._unsynced.add(target)
        self._dropped.discard(target)
        os.utime(target, (self._now_ms() / 1000,) * 2)


class DiskStore(MemoryStore):
    """Holds nothing itself: the real local store does, in a folder of that disk."""

    def __init__(self, world: World, root: str, disk: Disk) -> None:
        super().__init__(world.clock, uri=DISK)
        self.files = LocalStore(root, world.clock, uri=DISK)
        self._below: Callable[[], AbstractContextManager[None]] = disk.below

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        with self._below():
            return self.files.get(key, max_bytes=max_bytes)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        with self._below():
            return self.files.get_range(key, start, length)

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        with self._below():
            return self.files.get_with_etag(key, max_bytes=max_bytes)

    def head(self, key: str) -> ObjectInfo | None:
        with self._below():
            return self.files.head(key)

    def put(self, key: str, data: bytes) -> None:
        with self._below():
            self.files.put(key, data)

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        self.put(key, stream.read())

    def create(self, key: str, data: bytes) -> CreateOutcome:
        with self._below():
            return self.files.create(key, data)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        with self._below():
            return self.files.swap(key, data, etag)

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        return self.files.list(prefix, after=after)

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        return self.files.list_folder(prefix, after=after)

    def delete(self, keys: Iterable[str]) -> None:
        with self._below():
            self.files.delete(keys)


@dataclass
class Machine:
    """A table on such a disk, and the processes that write it directly."""

    world: World
    crew: Crew
    told: dict[int, bytes] = field(default_factory=dict)
    """By version that anybody was told of, what lay there then."""
    writers: Sequence["_Writer"] = ()

    def __post_init__(self) -> None:
        self._drawn = random.Random(f"disk/{self.world.seed}")
        root = self.world.closing.enter_context(TemporaryDirectory(prefix="headgate-disk-"))
        self._disk = Disk(self.world.clock.now_ms, self._refuses)
        self._store = DiskStore(self.world, root, self._disk)
        self.world.add_store(DISK, self._store)
        self.world.stores[DISK].witness = None  # what lies there may vanish again, and is judged here
        self.world.make_table(DISK)
        self.writers = [_Writer(self, f"disk-{number}") for number in range(WRITERS)]
        self.crew.work += self.writers

    def cut_power(self) -> None:
        """Everybody on this machine ends. What somebody was told of is there when they begin again."""
        for writer in self.writers:
            process = self.crew.processes.get(writer.name)
            if process is not None:
                process.kill()
        lost = self._disk.cut_power()
        self.world.faults.injected[POWER_CUT] += bool(lost)
        self.world.scheduler.note("disk", f"a power cut: {lost} names are gone")
        try:
            self._check()
        except InvariantBroken as broken:
            self.world.scheduler.stop(broken)
            raise

    def is_told(self, version: int) -> None:
        """Somebody reads this version, or has an answer that names it."""
        for number in range(version + 1):
            if number not in self.told:
                self.told[number] = self._bytes_of(number)

    def _check(self) -> None:
        for number, data in self.told.items():
            must(
                self._bytes_of(number) == data,
                f"{DISK}: somebody was told of version {number}, which a power cut took away (rule 2: the outcomes of a write)",
            )

    def _bytes_of(self, version: int) -> bytes:
        """As it lies there, whoever believes it; nothing where it doesn't."""
        path = self._store.files.local_path(version_key(version))
        assert path is not None
        if not os.path.exists(path):
            return b""
        with open(path, "rb") as file:
            return file.read()

    def _refuses(self) -> bool:
        refused = self.world.faults.rates is not CALM and self._drawn.random() < REFUSES
        self.world.faults.injected[REFUSED] += refused
        if refused and self._drawn.random() < CUTS:
            scheduler = self.world.scheduler
            scheduler.at(scheduler.now_ms + round(1000 * CUT_WITHIN_S * self._drawn.random() ** 2), self.cut_power)
        return refused


@dataclass
class _Writer:
    """Commits one thing after the other, and the same again until it knows what became of it."""

    machine: Machine
    name: str
    made: int = 0
    operation: Append | None = None

    def __post_init__(self) -> None:
        self._drawn = random.Random(f"disk/{self.machine.world.seed}/{self.name}")

    @property
    def is_done(self) -> bool:
        return self.made >= COMMITS and self.operation is None

    def live(self, process: Process) -> None:
        while not self.is_done:
            if self.operation is None:
                self.made += 1
                region = self._drawn.choice(REGIONS)
                self.operation = Append((added_file(self.machine.world.file_name(region), region),))
            process.sleep(self._drawn.random() * 3)
            self._try(process, partial(self._commit, process, self.operation))
            if self._drawn.random() < 0.5:
                self._try(process, partial(self._look, process))

    def _try(self, process: Process, do: Callable[[], Any]) -> None:
        try:
            do()
        except HeadgateError as error:
            process.scheduler.note(process.name, f"{type(error).__name__}: {error}")

    def _commit(self, process: Process, operation: Append) -> None:
        receipt = committer_of(self.machine.world.table(process, DISK)).commit(operation, f"{self.name}-{self.made}")
        assert isinstance(receipt, Committed | Duplicate), receipt
        self.operation = None
        self.machine.is_told(receipt.version)

    def _look(self, process: Process) -> None:
        self.machine.is_told(self.machine.world.table(process, DISK).snapshot().version)
