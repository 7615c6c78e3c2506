"""Random operations on a table, by somebody who knows what it looked like a moment ago: most are fine, some are refused."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from headgate_schemas.actions.actions import AddFile, SkipFile
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    CompactState,
    Create,
    Delete,
    NewManifest,
    Operation,
    Overwrite,
    Purge,
    Restore,
    Rewrite,
    Skip,
)
from support.simulation.world.data_files import RECORDS, content_of
from support.simulation.world.world import World

REGIONS = ("eu", "us", "asia")

Make = Callable[[], Operation]


class Bent(Enum):
    """What a run's jobs mostly do."""

    MIXED = "a little of everything"
    STORM = "appends, one upon the other"
    PARTITIONS = "partitions that are written anew"


_APPENDS = {Bent.MIXED: 50, Bent.STORM: 500, Bent.PARTITIONS: 50}
_OVERWRITES = {Bent.MIXED: 7, Bent.STORM: 7, Bent.PARTITIONS: 50}


class Operations:
    """Draws operations for one table."""

    def __init__(self, drawn: random.Random, world: World, table: str, bent: Bent = Bent.MIXED) -> None:
        self._random = drawn
        self._world = world
        self._model = world.models[table]
        self._weights: list[tuple[int, Make]] = [
            (_APPENDS[bent], self.append),
            (_OVERWRITES[bent], self._overwrite_partition),
            (2, self._overwrite_all),
            (5, self._delete_paths),
            (4, self._delete_partition),
            (10, self._rewrite),
            (4, self._restore),
            (4, self._alter),
            (2, self._widen),
            (2, self._skip),
            (3, self._purge),
            (2, self._append_again),
            (1, self._append_to_nowhere),
            (1, self._outside_where),
            (1, self._no_partition),
            (1, self._what_no_table_can_do),
            (1, self._create_again),
        ]

    def draw(self) -> Operation:
        (make,) = self._random.choices([make for _, make in self._weights], [weight for weight, _ in self._weights])
        return make()

    def is_new_data(self, operation: Operation) -> bool:
        """Whether it only appends files that nobody has seen, to partitions of the table."""
        return isinstance(operation, Append) and all(
            file.path not in self._model.added_in
            and file.path not in self._model.asks.owners
            and file.partition_values.keys() == {"region"}
            for file in operation.files
        )

    def append(self) -> Operation:
        return Append(tuple(self._file(self._region()) for _ in range(self._random.choice((1, 1, 2)))))

    def _overwrite_partition(self) -> Operation:
        region = self._region()
        return Overwrite((self._file(region),), f"region = '{region}'")

    def _overwrite_all(self) -> Operation:
        return Overwrite((self._file(self._region()),))

    def _delete_paths(self) -> Operation:
        return Delete(tuple(self._live(1)) or ("region=eu/never-was.parquet",))

    def _delete_partition(self) -> Operation:
        return Delete(where=f"region = '{self._region()}'")

    def _rewrite(self) -> Operation:
        region = self._region()
        sources = [path for path in self._live(100) if path.startswith(f"region={region}/")][:3]
        if not sources:
            return self.append()
        live = self._model.live()
        records = sum(live[path].get("numRecords", 0) for path in sources)
        wrong = 1 if self._random.random() < 0.05 else 0
        file = self._file(region, records + wrong)
        rows = tuple(self._model.rows_of(sources).elements())
        self._world.rows_given[file.path] = rows
        return Rewrite(tuple(sources), (replace(file, size=len(content_of(rows))),))

    def _restore(self) -> Operation:
        newest = self._model.newest
        return Restore(self._random.randrange(max(0, newest - 8), newest + 1) if newest > 0 else 0)

    def _alter(self) -> Operation:
        based_on = max(0, self._model.newest - self._random.choice((0, 0, 3)))
        return Alter(based_on, {"note": str(self._random.randrange(1000))})

    def _widen(self) -> Operation:
        """One more column; now and then one that the table has already, in capitals."""
        newest = self._model.newest
        if newest < 0:
            return self.append()
        schema = json.loads(self._model.versions[newest].metadata["schemaString"])
        name = f"c{len(schema['fields'])}"
        if self._random.random() < 0.3:
            name = str(self._random.choice(schema["fields"])["name"]).upper()
        schema["fields"].append({"name": name, "type": "string", "nullable": True, "metadata": {}})
        return Alter(newest, schema_string=json.dumps(schema))

    def _skip(self) -> Operation:
        paths = self._live(1)
        return Skip(tuple(SkipFile(path, 1, "unreadable", "merge") for path in paths)) if paths else self.append()

    def _purge(self) -> Operation:
        gone = sorted(set(self._model.added_in) - set(self._model.live()))
        pool = gone if gone and self._random.random() < 0.7 else self._live(100)
        return Purge((self._random.choice(pool),)) if pool else self.append()

    def _append_again(self) -> Operation:
        """A path that is there, or was there, under a proposal of its own: refused."""
        known = sorted(self._model.added_in)
        if not known:
            return self.append()
        path = self._random.choice(known)
        return Append((added_file(path, path.partition("/")[0].removeprefix("region="), RECORDS, 10),))

    def _append_to_nowhere(self) -> Operation:
        file = self._file("eu")
        return Append((AddFile(file.path, {"planet": "mars"}, file.size, file.modification_time),))

    def _outside_where(self) -> Operation:
        return Overwrite((self._file("eu"),), "region = 'us'")

    def _no_partition(self) -> Operation:
        return Delete(where="id = 5")

    def _what_no_table_can_do(self) -> Operation:
        elsewhere = NewManifest("../elsewhere.avro", 1, 0, 0, 1)
        return self._random.choice(
            (
                Delete(where="region = 5"),
                Overwrite((self._file("eu"),), "region LIKE"),
                Alter(max(0, self._model.newest), schema_string="no schema"),
                CompactState(max(0, self._model.newest), (), (elsewhere,)),
            )
        )

    def _create_again(self) -> Operation:
        return Create('{"type":"struct","fields":[]}')

    def _file(self, region: str, records: int = RECORDS) -> AddFile:
        path = self._world.file_name(region)
        return added_file(path, region, records, 10 + self._random.randrange(90))

    def _live(self, count: int) -> list[str]:
        live = sorted(self._model.live())
        return self._random.sample(live, min(count, len(live)))

    def _region(self) -> str:
        return self._random.choice(REGIONS)


def added_file(path: str, region: str, records: int = RECORDS, size: int = 30) -> AddFile:
    """As a job describes a file to the log."""
    return AddFile(
        path,
        {"region": region},
        size,
        1_780_000_000_000,
        num_records=records,
        min_values={"id": "1"},
        max_values={"id": "9"},
    )
