"""Random histories through a real committer, with a worker that compacts at any point: no reader can tell that it did.

What a version means is told by the JSON of version files, decoded without our code.
"""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate_schemas.messages.operations import Append, Delete, Operation, Overwrite, Rewrite
from headgate_worker.roles.compact import CompactRole
from support.committing.rig import TABLE
from support.coordinated import Coordinated
from support.logs.profile_check import breaches
from support.logs.raw_log import RawLog
from support.tables import add_file

MONTHS = ("1", "2", "10")
SMALL = {
    "state__entriesPerManifest": "4",
    "state__compaction__maxManifests": "2",
    "state__compaction__tombstoneThreshold": "0.2",
}
CHANGES = ("append", "append", "append", "delete", "overwrite", "rewrite", "refused")
OVERTAKING = ("delete", "overwrite", "rewrite", "append")
KINDS = (*CHANGES, "compact", "compact", "overtaken", "overtaken", "together", "restart")

Step = tuple[str, int, int]


class History:
    """A table, its committer and now and then a worker; what was asked for is in no version twice."""

    def __init__(self, interval: int) -> None:
        self.world = Coordinated(interval=interval, partition_by=["month"], **SMALL)
        self._made = 0
        self._merged: dict[str, int] = {}
        """Records of files that came of rewrites."""

    def play(self, steps: Sequence[Step]) -> "History":
        for kind, one, two in steps:
            match kind:
                case "compact":
                    self._compact()
                case "overtaken":
                    # So that a compaction is due, and another change is decided between its reading and its proposal.
                    self.world.done(self._change("append", one, 2), self._change("delete", one, two))
                    self.world.before_deciding = [self._change(OVERTAKING[two % len(OVERTAKING)], two, one)]
                    self._compact()
                    self.world.before_deciding = []
                case "together":
                    for _ in range(2 + one % 3):
                        self.world.rig.propose(self._change("append", one, two))
                    self.world.rig.propose(self._change("delete", one, two))
                    self.world.rig.settle(self.world.committer)
                case "restart":
                    self.world.committer.close()
                    self.world.committer = self.world.rig.committer(f"committer {self._made}")
                case _:
                    self.world.done(self._change(kind, one, two))
        return self

    def _compact(self) -> None:
        self.world.worked(CompactRole(self.world.tables.open, self.world.rig.ambient))

    def _change(self, kind: str, one: int, two: int) -> Operation:
        live = self.world.paths()
        month = MONTHS[one % len(MONTHS)]
        self._made += 1
        file = add_file(f"f{self._made:03d}", 1000 + self._made, month=month)
        merged = [path for path in live if path.startswith(f"month={month}/")][:2]
        match kind:
            case "delete" if live:
                return Delete(tuple(live[one % 3 :: 2 + two % 3]) or tuple(live))
            case "overwrite":
                return Overwrite((file,), f"month = {month}")
            case "rewrite" if len(merged) == 2:
                # A file that came of a rewrite holds more than others.
                records = sum(self._merged.get(path, 10) for path in merged)
                file = add_file(f"m{self._made:03d}", num_records=records, month=month)
                self._merged[file.path] = records
                return Rewrite(tuple(merged), (file,))
            case "refused":
                return Delete(("never.parquet",))
            case _:
                return Append((file, *(add_file(f"f{self._made:03d}-{each}", month=month) for each in range(two % 3))))


class Told:
    """What version files say: live files by version, and which versions swap manifests."""

    def __init__(self, log: RawLog) -> None:
        self.live: dict[int, frozenset[str]] = {}
        self.added: dict[int, set[str]] = {}
        self.removed: dict[int, set[str]] = {}
        self.swaps: set[int] = set()
        now: set[str] = set()
        for version in log.versions():
            actions = log.actions(version)
            self.added[version] = {action["add"]["path"] for action in actions if "add" in action}
            self.removed[version] = {action["remove"]["path"] for action in actions if "remove" in action}
            if any(action.get("commitInfo", {}).get("swap") for action in actions):
                self.swaps.add(version)
            now = (now - self.removed[version]) | self.added[version]
            self.live[version] = frozenset(now)


def told(history: History) -> Told:
    return Told(RawLog(history.world.rig.stores[TABLE]))


def histories() -> st.SearchStrategy[History]:
    numbers = st.integers(0, 5)
    steps = st.lists(st.tuples(st.sampled_from(KINDS), numbers, numbers), min_size=3, max_size=12)
    return st.builds(lambda interval, played: History(interval).play(played), st.sampled_from([1, 1, 2, 5]), steps)


FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(histories())
def test_every_version_reads_as_its_files_say(history: History) -> None:
    """Break: `apply_swap` drops all tombstones, also of manifests that stay; or `survey` leaves a live entry out."""
    table = history.world.table
    found = {version: frozenset(table.snapshot(version=version).paths()) for version in told(history).live}
    assert found == told(history).live


@FEW
@given(histories())
def test_the_change_feed_tells_what_was_committed_and_nothing_of_compactions(history: History) -> None:
    """Break: a rewritten entry gets the version of the swap as its `added_at_version`."""
    table, log = history.world.table, told(history)
    versions = sorted(log.live)
    feed = [
        (set(each.added.column("path").to_pylist()), set(each.removed.column("path").to_pylist()))
        for each in table.changes_by_version(versions[0])
    ]
    assert feed == [(log.added[version], log.removed[version]) for version in versions[1:]]
    for since, until in [*pairwise(versions), (versions[0], versions[-1])]:
        net = table.changes(since, until)
        added, removed = (set(side.column("path").to_pylist()) for side in (net.added, net.removed))
        assert added - removed == log.live[until] - log.live[since]
        assert removed - added == log.live[since] - log.live[until]


@FEW
@given(histories())
def test_a_compaction_adds_and_removes_nothing_and_leaves_a_sound_table(history: History) -> None:
    """Break: the swap's version carries the removes of what its manifests leave out."""
    log = told(history)
    assert all(log.live[version] == log.live[version - 1] for version in log.swaps if not log.added[version])
    assert breaches(history.world.rig.stores[TABLE]) == []
    assert history.world.table.verify(data_files=False).ok


def test_such_histories_have_compactions() -> None:
    """Else the properties above would say nothing."""
    steps = [("append", 0, 2)] * 4 + [("delete", 0, 0), ("compact", 0, 0), ("append", 1, 1), ("overtaken", 1, 1)]
    assert len(told(History(1).play(steps)).swaps) >= 1
