"""Random histories with compactions at any point: nobody who reads the table can tell that there were any."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate_schemas.messages.operations import Committed, CompactState, Receipt, RejectCode, Rejected
from headgate_table.indextables.compaction.compactor import Compactor
from headgate_table.indextables.format.names import version_key
from headgate_table.table import Table
from support.cleaning import one_thread
from support.logs.profile_check import breaches
from support.logs.raw_log import RawLog
from support.stores import MemoryStore
from support.tables import SteadyAmbient, add_file, new_table, opened

MONTHS = ("1", "2", "10", "__HIVE_DEFAULT_PARTITION__")
SMALL = {
    "state.entriesPerManifest": "4",
    "state.compaction.maxManifests": "2",
    "state.compaction.tombstoneThreshold": "0.2",
}
KINDS = (
    "append",
    "append",
    "append",
    "delete",
    "overwrite",
    "rewrite",
    "full",
    "part",
    "prepare",
    "propose",
    "rebased",
    "race",
)

Step = tuple[str, int, int]


@dataclass
class History:
    """A table, and what its versions must say, noted as they are made."""

    interval: int
    store: MemoryStore = field(default_factory=MemoryStore)
    live: dict[str, int] = field(default_factory=dict)
    versions: dict[int, dict[str, int]] = field(default_factory=dict)
    prepared: list[CompactState] = field(default_factory=list)
    merged: dict[str, int] = field(default_factory=dict)
    """Records of files that came of rewrites."""
    made: int = 0
    compactions: int = 0

    def __post_init__(self) -> None:
        new_table(self.store, "month")
        self.table: Table = self.fresh()
        self.note()

    def fresh(self) -> Table:
        return opened(self.store, interval=self.interval, settings=SMALL, resources=one_thread())

    def note(self) -> None:
        self.versions[self.table.version] = dict(self.live)

    def play(self, steps: Sequence[Step]) -> "History":
        for kind, one, two in steps:
            getattr(self, f"_{kind}")(one, two)
            self.note()
        return self

    def _append(self, one: int, two: int) -> None:
        files = []
        for _ in range(1 + two % 3):
            self.made += 1
            files.append(add_file(f"f{self.made:03d}", 1000 + self.made, month=MONTHS[one % 4]))
        assert isinstance(self.table.append(files), Committed)
        self.live |= {file.path: file.size for file in files}

    def _delete(self, one: int, two: int) -> None:
        paths = sorted(self.live)[one % 3 :: 2 + two % 3]
        if paths:
            assert isinstance(self.table.delete(paths=paths), Committed)
            for path in paths:
                del self.live[path]

    def _overwrite(self, one: int, two: int) -> None:
        self.made += 1
        file = add_file(f"f{self.made:03d}", 1000 + self.made, month="2")
        assert isinstance(self.table.overwrite([file], where="month = 2"), Committed)
        self.live = {path: size for path, size in self.live.items() if not path.startswith("month=2/")}
        self.live[file.path] = file.size

    def _rewrite(self, one: int, two: int) -> None:
        month = MONTHS[one % 3]
        paths = [path for path in sorted(self.live) if path.startswith(f"month={month}/")][:2]
        if len(paths) == 2:
            self.made += 1
            # A file that came of a rewrite holds more than others.
            records = sum(self.merged.get(path, 10) for path in paths)
            file = add_file(f"f{self.made:03d}", 1000 + self.made, num_records=records, month=month)
            self.merged[file.path] = records
            assert isinstance(self.table.rewrite(paths, [file]), Committed)
            self.live = {path: size for path, size in self.live.items() if path not in paths} | {file.path: file.size}

    def _full(self, one: int, two: int) -> None:
        self._settled(self.fresh().compact())

    def _part(self, one: int, two: int) -> None:
        self._settled(self.fresh().compact(full=False))

    def _prepare(self, one: int, two: int) -> None:
        """A compaction that is proposed only after later versions."""
        swap = self._swap(full=one % 2 == 0)
        if swap is not None:
            self.prepared.append(swap)

    def _propose(self, one: int, two: int) -> None:
        while self.prepared:
            self._settled(self.table.commit(self.prepared.pop()))

    def _rebased(self, one: int, two: int) -> None:
        """A compaction over versions that came meanwhile, and their states."""
        self._append(one, 2)
        self.note()
        self._delete(0, 0)
        self.note()
        self.table.checkpoint()
        self._prepare(0, 0)
        self._delete(one, two)
        self.note()
        self.table.checkpoint()
        self._propose(one, two)

    def _race(self, one: int, two: int) -> None:
        """Two compactions of one state; versions may come between them."""
        swaps = [self._swap(full=one % 2 == 0), self._swap(full=two % 2 == 0)]
        for swap in swaps:
            if swap is not None:
                self._settled(self.fresh().commit(swap))
                self.note()
                self._append(one, 0)
                self.note()

    def _swap(self, *, full: bool) -> CompactState | None:
        table = self.fresh()
        log = table.reader.latest()
        if log.state is None:
            return None
        self.made += 1
        compactor = Compactor(table.reader, SteadyAmbient(f"prepared {self.made}"), table.options)
        plan = compactor.plan(log.state, full=full)
        return compactor.prepare(log.state, plan, table.metadata) if plan.is_needed else None

    def _settled(self, receipt: Receipt) -> None:
        if isinstance(receipt, Rejected):
            assert receipt.code is RejectCode.BASE_GONE, receipt
        else:
            self.compactions += 1


def histories() -> st.SearchStrategy[History]:
    numbers = st.integers(0, 5)
    steps = st.lists(st.tuples(st.sampled_from(KINDS), numbers, numbers), min_size=3, max_size=18)
    return st.builds(lambda interval, played: History(interval).play(played), st.sampled_from([1, 2, 5]), steps)


FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(histories())
def test_every_version_reads_as_it_was_committed(history: History) -> None:
    """Break: `survey` takes tombstones of other states; `cut` loses the order of rows; `apply_swap` drops all tombstones."""
    table = history.fresh()
    assert table.snapshot().paths() == sorted(history.live)
    for version, live in history.versions.items():
        rows = table.snapshot(version=version).files(["path", "size"]).to_pylist()
        assert {row["path"]: row["size"] for row in rows} == live
        assert len(rows) == len(live)


@FEW
@given(histories())
def test_the_changes_between_versions_are_those_that_were_committed(history: History) -> None:
    """Break: a compaction writes adds or removes into its version; or gives entries another `added_at_version`."""
    table = history.fresh()
    numbers = sorted(history.versions)
    for since, until in [*pairwise(numbers), (numbers[0], numbers[-1])]:
        before, after = history.versions[since], history.versions[until]
        assert difference(table, since, until) == (sorted(after.keys() - before), sorted(before.keys() - after))


@FEW
@given(histories())
def test_states_alone_tell_the_same_changes(history: History) -> None:
    """As after cleaning. Break: `arranged` leaves a file out that only the next state has."""
    table = history.fresh()
    table.checkpoint()
    states = [number for number in RawLog(history.store).states() if number in history.versions]
    history.store.delete([version_key(number) for number in range(states[-1] + 1)])
    cleaned = history.fresh()
    for since in states:
        before, after = history.versions[since], history.versions[states[-1]]
        assert cleaned.snapshot(version=since).paths() == sorted(before)
        assert difference(cleaned, since, states[-1]) == (sorted(after.keys() - before), sorted(before.keys() - after))


@FEW
@given(histories())
def test_every_known_reader_can_read_what_is_left(history: History) -> None:
    """Break: `encode_named` takes schema B always; `apply_swap` doesn't count `num_files` anew."""
    history.table.checkpoint()
    assert breaches(history.store) == []
    assert history.fresh().verify(data_files=False).ok


def difference(table: Table, since: int, until: int) -> tuple[list[str], list[str]]:
    """Net: a file that came and went in between is in neither."""
    changes = table.changes(since, until)
    added = set(changes.added.column("path").to_pylist())
    removed = set(changes.removed.column("path").to_pylist())
    return sorted(added - removed), sorted(removed - added)
