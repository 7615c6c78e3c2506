"""Some minutes in the life of a lake: real tables, a real bus and the real committer, under a clock that the story moves.

It is told in seconds. Everything in it is drawn from a seed: who proposes what, what is refused, what workers tidy up.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Self

from headgate_bus.interface import Message, Topic
from headgate_bus.open import open_bus
from headgate_committer.committer import Committer
from headgate_committer.tables import StoredTables
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Create,
    Delete,
    Operation,
    Overwrite,
    Purge,
    Receipt,
    Rewrite,
    Writer,
)
from headgate_schemas.messages.proposals import encode_proposal, new_proposal
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.committing.rig import context_of
from support.tables import fresh_resources

DAYS = ("2026-11-15", "2026-11-16", "2026-11-17", "2026-11-18", "2026-11-19")
REGIONS = ("ap", "eu", "sa", "us")
WORKER = "worker-5be1c09d72aa headgate-worker/0.1"
STORES = StoreSettings(local_durable=False)


class Place:
    """One table of the story."""

    def __init__(self, uri: str, author: str, partitions: Sequence[str], every_s: float, files: int, size: int) -> None:
        self.uri = uri
        self.author = author
        self.partitions = tuple(partitions)
        self.every_s = every_s
        """How often its author appends, on the average."""
        self.files = files
        self.size = size
        self.live: list[AddFile] = []
        self.written = 0


class Story:
    """To be used in a `with` block."""

    def __init__(self, folder: Path, start_ms: int, seed: int = 7) -> None:
        self.ambient = FakeAmbient(f"story-{seed}", start_ms)
        self.bus_address = f"sqlite://{folder}/bus.db"
        self._random = random.Random(seed)
        lake = folder / "lake"
        self.places = [
            Place(f"{lake}/events", "events-sink@ingest-2", ("date", "region"), 1.6, 2, 34 << 20),
            Place(f"{lake}/orders", "orders-cdc@cdc-1", ("date",), 3.5, 1, 9 << 20),
            Place(f"{lake}/web/clicks", "clicks-sink@ingest-1", ("date", "region"), 2.4, 3, 61 << 20),
            Place(f"{lake}/web/sessions", "sessionizer@spark-4", ("date",), 9, 4, 140 << 20),
            Place(f"{lake}/billing/invoices", "nightly@etl-3", (), 30, 1, 3 << 20),
            Place(f"{lake}/features/user_vectors", "features@ml-7", ("region",), 14, 2, 210 << 20),
        ]
        self._stack = ExitStack()
        self._numbers = 0

    def __enter__(self) -> Self:
        self._bus = self._stack.enter_context(closing(open_bus(self.bus_address, self.ambient)))
        self._bus.prepare()
        tables = StoredTables(STORES, fresh_resources(), self.ambient, overrides={"checkpoint.interval": "10"})
        self._committer = Committer(self._bus, tables, context_of(self.ambient, "committer-1f7e20c4b9d3"))
        self._stack.callback(self._committer.close)
        for place in self.places:
            self.create(place.uri, place.author, place.partitions)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def create(self, uri: str, author: str, partitions: Sequence[str] = ()) -> None:
        """One more table."""
        columns = "id BIGINT, amount DOUBLE, date DATE, region STRING"
        self.propose(uri, Create(schema_string_of(columns), tuple(partitions)), author)
        self.settle()

    def live_until_now(self) -> None:
        """Catch up with the real clock."""
        while self.ambient.time_ms < time.time() * 1000:
            self.second()

    def fill(self, files: int) -> None:
        """What the tables held when the story begins."""
        for place in self.places:
            share = max(4, int(files / place.every_s))
            for _ in range(4):
                self.propose(place.uri, Append(tuple(self._file(place) for _ in range(share // 4))), place.author)
                self.ambient.advance(seconds=20)
            self.settle()

    def second(self) -> None:
        """One second: everybody does what he does, and the committer decides as it comes."""
        for place in self.places:
            self._maybe(1 / (place.every_s * 1.6), lambda place=place: self._append(place))  # type: ignore[misc]  # bound per turn
        self._maybe(0.07, self._mistake)
        self._maybe(0.05, lambda: self.merge(self._random.choice(self.places[:3])))
        self._maybe(0.02, self._upkeep)
        self.ambient.advance(seconds=self._random.uniform(0.3, 0.5))

    def _maybe(self, share: float, act: Callable[[], None]) -> None:
        if self._random.random() < share:
            act()
            # Now and then the store is slow.
            slow = 6 if self.ambient.time_ms // 20_000 % 9 == 0 else 1
            self.ambient.advance(seconds=0.006 + slow * self._random.expovariate(1 / 0.018))
            self.settle()
            self.ambient.advance(seconds=self._random.uniform(0.02, 0.2))

    def _append(self, place: Place) -> None:
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            self.propose(place.uri, Append(tuple(self._file(place) for _ in range(place.files))), place.author)

    def propose(
        self, uri: str, operation: Operation, author: str, writer: Writer | None = None, identity: str | None = None
    ) -> str:
        """Returns the proposal's id."""
        identity = identity or self.ambient.new_id()
        proposal = new_proposal(
            operation,
            proposal_id=identity,
            table=uri,
            created_ms=self.ambient.now_ms(),
            author=author,
            writer=writer,
        )
        self._send(uri, encode_proposal(proposal), author, identity)
        return identity

    def rubbish(self, uri: str, body: bytes, author: str) -> None:
        """A message that nobody can understand."""
        self._send(uri, body, author, self.ambient.new_id())

    def settle(self) -> None:
        """Until the committer has nothing to do."""
        while self._committer.step(0.001):
            pass

    def _send(self, uri: str, body: bytes, author: str, identity: str) -> None:
        headers = attributes(
            kind=PROPOSAL, event_id=identity, source=author, subject=identity, time_ms=self.ambient.now_ms()
        )
        self._bus.append(Topic.PROPOSALS, [Message(uri, headers, body)])

    def _file(self, place: Place, values: Mapping[str, str] | None = None, size: int | None = None) -> AddFile:
        place.written += 1
        if values is None:
            day = self._random.choices(DAYS, (1, 1, 2, 3, 9))[0]
            values = {"date": day, "region": self._random.choices(REGIONS, (2, 5, 1, 4))[0]}
            values = {name: value for name, value in values.items() if name in place.partitions}
        folder = "".join(f"{name}={value}/" for name, value in values.items())
        size = size or int(place.size * self._random.uniform(0.3, 1.6))
        file = AddFile(
            path=f"{folder}part-{place.written:05d}-{self.ambient.new_id()[:8]}.parquet",
            partition_values=values,
            size=size,
            modification_time=self.ambient.now_ms(),
            num_records=size // 210,
        )
        place.live.append(file)
        return file

    def _mistake(self) -> None:
        place = self._random.choice(self.places)
        kind = self._random.choices(range(6), (4, 3, 5, 1, 1, 2))[0]
        if kind == 0 and place.live:
            again = self._random.choice(place.live)
            self.propose(place.uri, Append((again,)), "backfill@etl-1")
        elif kind == 1:
            self.propose(place.uri, Delete(("date=2026-11-02/part-00017.parquet",)), "retention@ops")
        elif kind == 2:
            seq = self._numbers = self._numbers + 1
            for _ in range(2):
                self.propose(place.uri, Append((self._file(place),)), place.author, Writer(place.author, seq))
                place.live.pop()
        elif kind == 3:
            body = self._random.choice(
                (b'{"format": 2, "id": "x"}', b"\x80\x04\x95 not a message", b'{"format":1,"id":"a b","table":""}')
            )
            self.rubbish(place.uri, body, "legacy-loader@vm-12")
        elif kind == 4:
            self.propose(f"{place.uri}_tmp", Append((self._file(place),)), "notebook@dana")
            place.live.pop()
        elif place.partitions == ("date",):
            self.propose(place.uri, Overwrite((self._file(place),), "date = '2026-11-02'"), "nightly@etl-3")
            place.live.pop()

    def merge(self, place: Place) -> None:
        """Small files of one partition become one."""
        by_partition: dict[str, list[AddFile]] = {}
        for file in place.live:
            by_partition.setdefault(str(file.partition_values), []).append(file)
        sources = max(by_partition.values(), key=len)[:24]
        if len(sources) < 4:
            return
        self.settle()
        merged = self._file(place, dict(sources[0].partition_values), sum(file.size for file in sources))
        records = sum(file.num_records or 0 for file in sources)
        place.live[-1] = merged = AddFile(
            path=merged.path,
            partition_values=merged.partition_values,
            size=merged.size,
            modification_time=merged.modification_time,
            num_records=records,
        )
        self.propose(place.uri, Rewrite(tuple(file.path for file in sources), (merged,)), WORKER)
        place.live = [file for file in place.live if file not in sources]

    def _upkeep(self) -> None:
        place = self._random.choice(self.places[:3])
        if self._random.random() < 0.4:
            self.propose(
                place.uri, Purge(tuple(f"orphan-{self.ambient.new_id()[:8]}.parquet" for _ in range(7))), WORKER
            )
            return
        self.settle()
        table = Table.open(
            place.uri, STORES, ambient=self.ambient, commit=lambda operation: self._decided(place.uri, operation)
        )
        table.compact()

    def _decided(self, uri: str, operation: Operation) -> Receipt:
        identity = self.propose(uri, operation, WORKER)
        self.settle()
        return Committed(0, identity)
