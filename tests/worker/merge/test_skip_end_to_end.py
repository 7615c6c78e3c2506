"""SKIP from end to end: a damaged file stands in the way of merges, through a committer and a worker, until it is mended."""

from collections import Counter

import pytest

from headgate_schemas.actions.actions import SkipFile
from headgate_schemas.messages.operations import Append, Delete, Skip
from headgate_table.data_file import DataFile
from headgate_table.indextables.rules.skips import known_skips
from headgate_table.store.interface import Store
from headgate_table.table import Table
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.plan import MergeLimits
from headgate_worker.merge.role import MergeRole
from support.ambient import HOUR_MS
from support.committing.rig import TABLE
from support.coordinated import Coordinated
from support.merging import TARGET_BYTES, counted, rows_table
from support.parquet import parquet

DAY_HOURS = 24
PLAIN = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
SOUND = [parquet(rows_table(number * 10), **PLAIN) for number in range(6)]


def cut_off(data: bytes) -> bytes:
    """As a writer leaves it that died."""
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    """One byte of a page: the footer is whole, and only the rows can't be read."""
    place = data.index(b"text 2") + 3
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


class Damaged:
    """A table whose file `bad.parquet` was damaged after it was appended, beside files that are sound."""

    def __init__(self, damaged: bytes, sound: int = 2) -> None:
        self.world = Coordinated()
        self._files = 0
        self.append("bad.parquet", SOUND[0])
        for _ in range(sound):
            self.append_sound()
        self.store.put("bad.parquet", damaged)

    @property
    def store(self) -> Store:
        return self.world.rig.stores[TABLE]

    @property
    def table(self) -> Table:
        return self.world.table

    def append(self, path: str, data: bytes) -> None:
        self.store.put(path, data)
        self.world.done(Append((DataFile.of_parquet(path, store=self.store),)))

    def append_sound(self) -> None:
        self._files += 1
        self.append(f"sound-{self._files}.parquet", SOUND[self._files])

    def mend(self) -> None:
        self.store.put("bad.parquet", SOUND[0])

    def later(self, hours: float) -> None:
        self.world.rig.ambient.advance(hours=hours)

    def merge(self) -> None:
        """What a worker does that looks at the table now."""

        def engine_for(table: Table) -> ArrowEngine:
            return ArrowEngine(table.store, table.reader.resources)

        limits = MergeLimits(target_bytes=TARGET_BYTES)
        self.world.worked(MergeRole(self.world.tables.open, engine_for, self.world.rig.ambient, lambda table: limits))

    @property
    def skip(self) -> SkipFile | None:
        """What the log remembers of the file, whether it holds or not."""
        table = self.table
        return known_skips(table.reader, table.snapshot().log, self.world.rig.ambient.now_ms()).get("bad.parquet")

    @property
    def shown(self) -> list[str]:
        """The files that `describe` says are left alone."""
        return [file.path for file in self.table.describe().skipped]

    @property
    def is_merged(self) -> bool:
        return "bad.parquet" not in self.world.paths()


@pytest.fixture(params=[cut_off, flipped], ids=["cut off", "a page is damaged"])
def damaged(request: pytest.FixtureRequest) -> Damaged:
    return Damaged(request.param(SOUND[0]))


def test_a_merge_leaves_the_damaged_file_and_takes_the_others(damaged: Damaged) -> None:
    damaged.merge()
    bad, merged = damaged.world.paths()
    assert (bad, merged.startswith("merged-")) == ("bad.parquet", True)


def test_the_committer_records_why_and_until_when(damaged: Damaged) -> None:
    before_ms = damaged.world.rig.ambient.now_ms()
    damaged.merge()
    skip = damaged.skip
    assert skip is not None
    assert (skip.operation, skip.skip_count, skip.size) == ("merge", 1, len(SOUND[0]))
    assert skip.retry_after is not None
    assert skip.retry_after >= before_ms + DAY_HOURS * HOUR_MS
    assert skip.reason


def test_describe_shows_the_file_with_its_reason(damaged: Damaged) -> None:
    damaged.merge()
    skip = damaged.skip
    assert skip is not None
    description = damaged.table.describe()
    assert description.num_skipped == 1
    (shown,) = description.skipped
    assert (shown.path, shown.reason, shown.retry_after) == ("bad.parquet", skip.reason, skip.retry_after)


def test_within_the_cooldown_the_file_is_not_even_tried(damaged: Damaged) -> None:
    damaged.merge()
    damaged.append_sound()
    damaged.later(DAY_HOURS - 1)
    asked = len(damaged.world.operations)
    damaged.merge()
    # The others were merged again, and nothing was said of the damaged one.
    assert [type(operation).__name__ for operation in damaged.world.operations[asked:]] == ["Rewrite"]
    assert len(damaged.world.paths()) == 2


def test_each_failure_makes_the_cooldown_longer_up_to_a_week(damaged: Damaged) -> None:
    lengths = []
    for _ in range(6):
        damaged.merge()
        skip = damaged.skip
        assert skip is not None
        assert skip.retry_after is not None
        lengths.append((skip.skip_count, (skip.retry_after - skip.skip_timestamp) // HOUR_MS // DAY_HOURS))
        damaged.later(lengths[-1][1] * DAY_HOURS + 1)
    assert lengths == [(1, 1), (2, 2), (3, 4), (4, 7), (5, 7), (6, 7)]


def test_a_mended_file_waits_for_its_cooldown(damaged: Damaged) -> None:
    damaged.merge()
    damaged.mend()
    damaged.later(DAY_HOURS - 1)
    damaged.merge()
    assert (damaged.is_merged, damaged.shown) == (False, ["bad.parquet"])


def test_a_mended_file_is_merged_after_its_cooldown_and_no_row_is_lost(damaged: Damaged) -> None:
    damaged.merge()
    damaged.mend()
    damaged.later(DAY_HOURS + 1)
    damaged.merge()
    assert (damaged.is_merged, damaged.shown, len(damaged.world.paths())) == (True, [], 1)
    rows = damaged.table.snapshot().scan(columns=["id", "text"]).read_all()
    assert counted(rows) == sum((counted(rows_table(number * 10)) for number in range(3)), Counter())


def test_the_table_stays_sound_all_the_way(damaged: Damaged) -> None:
    for _ in range(3):
        damaged.merge()
        damaged.later(3 * DAY_HOURS)
    damaged.mend()
    damaged.later(7 * DAY_HOURS)
    damaged.merge()
    assert damaged.table.verify().errors == 0


def test_a_damaged_file_that_is_deleted_is_shown_no_more(damaged: Damaged) -> None:
    damaged.merge()
    damaged.world.done(Delete(paths=("bad.parquet",)))
    assert damaged.shown == []


def test_a_skip_that_an_operator_proposes_is_honoured_for_a_day() -> None:
    fine = Damaged(SOUND[0])
    fine.world.done(
        Skip((SkipFile("bad.parquet", fine.world.rig.ambient.now_ms(), "I know better", operation="merge"),))
    )
    fine.merge()
    assert (fine.is_merged, fine.shown) == (False, ["bad.parquet"])
    fine.later(DAY_HOURS + 1)
    assert fine.shown == []
    fine.merge()
    assert fine.is_merged


def test_a_skip_survives_states_and_restarts() -> None:
    damaged = Damaged(cut_off(SOUND[0]))
    damaged.merge()
    for _ in range(2):
        damaged.append_sound()
    damaged.table.checkpoint()
    damaged.append_sound()
    assert damaged.shown == ["bad.parquet"]
