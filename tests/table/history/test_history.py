"""What happened to a table, version by version, and properties of all readings of the past: snapshots, changes, history."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Committed
from headgate_table.errors import VersionNotRetained
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.log.listing import list_log
from headgate_table.table import Table
from support.stores.faulty import FaultyStore
from support.stores.memory import MemoryStore
from support.tables import add_file, new_table, opened
from support.writers.handmade import HandMade, add, file, remove
from support.writers.scala import ScalaTable
from support.writers.scala_json import ScalaJsonTable


def test_history_names_each_version_newest_first() -> None:
    table = new_table()
    table.append([add_file("a", 10), add_file("b", 20)])
    table.delete(paths=["a.parquet"])
    table.rewrite(["b.parquet"], [add_file("c", 19, data_change=False)])
    found = [(e.version, e.operation, e.adds, e.removes, e.added_bytes, e.removed_bytes) for e in table.history()]
    assert found == [
        (3, "Rewrite", 1, 1, 19, 20),
        (2, "Delete", 0, 1, 0, 10),
        (1, "Append", 2, 0, 30, 0),
        (0, "Create", 0, 0, 0, 0),
    ]


def test_history_names_the_proposals_that_a_version_decided() -> None:
    table = new_table()
    receipt = table.append([add_file("a")])
    assert table.history(1)[0].proposals == (receipt.proposal_id,)


def test_history_tells_the_times_of_versions_in_their_order() -> None:
    table = new_table()
    for name in "abc":
        table.append([add_file(name)])
    times = [entry.time for entry in table.history()]
    assert times == sorted(times, reverse=True)
    assert [table.snapshot(timestamp=time_ms).version for time_ms in times] == [3, 2, 1, 0]


def test_history_ends_at_its_limit() -> None:
    table = new_table()
    for name in "abc":
        table.append([add_file(name)])
    assert [entry.version for entry in table.history(2)] == [3, 2]


def test_a_limit_of_history_bounds_the_reading() -> None:
    store = MemoryStore()
    table = new_table(store)
    for number in range(40):
        table.append([add_file(f"f{number}")])
    counted = FaultyStore(store)
    assert len(opened(counted).history(3)) == 3
    assert counted.count("get") == 3


def test_a_limit_bounds_the_reading_of_states_too(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path)
    for _ in range(20):
        made.append(1)
    table = Table.open(str(tmp_path))
    counted = FaultyStore(table.store)
    assert [entry.adds for entry in opened(counted).history(3)] == [1, 1, 1]
    assert counted.count("get") <= 4


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        new_table().history(0)


def test_states_tell_what_was_added_where_no_version_file_does(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path)
    first = made.append(20)
    made.append(2)
    made.remove(first[:1])
    entries = Table.open(str(tmp_path)).history()
    assert [(e.version, e.source, e.operation, e.adds, e.removes, e.net_files) for e in entries] == [
        (3, "state", "unknown", 0, 1, -1),
        (2, "state", "unknown", 2, 0, 2),
        (1, "state", "unknown", 20, 0, 20),
        (0, "version file", "Create", 0, 0, 0),
    ]
    assert [entry.added_bytes for entry in entries[2:]] == [sum(file["size"] for file in first), 0]


def test_a_state_with_rewritten_manifests_tells_the_balance_only(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path)
    made.remove(made.append(4)[:3])
    entry = Table.open(str(tmp_path)).history(1)[0]
    assert (entry.adds, entry.removes, entry.net_files, entry.added_bytes) == (None, None, -3, None)


def test_a_state_whose_predecessor_is_gone_tells_nothing_of_its_changes(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path)
    for _ in range(3):
        made.append(1)
    made.log.delete_state(2)
    entry = Table.open(str(tmp_path)).history(1)[0]
    assert (entry.version, entry.adds, entry.removes, entry.net_files) == (3, None, None, None)


def test_a_late_state_under_an_early_number_is_no_history(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path)
    for _ in range(3):
        made.append(1)
    made.checkpoint(at=0)
    made.log.delete(f"{0:020d}.json")
    assert [entry.version for entry in Table.open(str(tmp_path)).history()] == [3, 2, 1]


def test_versions_that_say_no_operation_are_unknown(tmp_path: Path) -> None:
    made = HandMade(tmp_path)
    made.start()
    made.version(1, add(file("a", 10)))
    made.version(2, remove("a.parquet"))
    found = [(e.operation, e.adds, e.removes, e.removed_bytes) for e in Table.open(str(tmp_path)).history()]
    assert found == [("unknown", 0, 1, None), ("unknown", 1, 0, 0), ("Create", 0, 0, 0)]


def test_a_json_checkpoint_without_its_version_file_is_in_the_history(tmp_path: Path) -> None:
    made = ScalaJsonTable(tmp_path)
    while not list(made.log.path.glob("*.checkpoint.json")):
        made.append(1)
    number = int(next(made.log.path.glob("*.checkpoint.json")).name.partition(".")[0])
    made.log.delete(f"{number:020d}.json")
    entry = next(entry for entry in Table.open(str(tmp_path)).history() if entry.version == number)
    assert (entry.source, entry.operation, entry.adds) == ("checkpoint", "unknown", None)


# --- the past as a whole ------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("delete"), st.integers(0, 99)),
        st.tuples(st.just("overwrite"), st.integers(0, 2)),
        st.tuples(st.just("rewrite"), st.integers(0, 99)),
        st.tuples(st.just("restore"), st.integers(0, 99)),
        st.tuples(st.just("compact"), st.booleans()),
        st.tuples(st.just("checkpoint"), st.none()),
        st.tuples(st.just("clean"), st.integers(0, 99)),
    ),
    min_size=3,
    max_size=14,
)


class _Past:
    """A table and a model of it: what was live at each version, kept apart from the table's own code."""

    def __init__(self, interval: int) -> None:
        self.store = MemoryStore()
        self.table = new_table(self.store, interval=interval)
        self.live: dict[int, frozenset[str]] = {0: frozenset()}
        self._drawn = 0

    def run(self, step: str, choice: object) -> None:
        now = self.live[max(self.live)]
        number = choice if isinstance(choice, int) else 0
        some = sorted(now)[number % len(now) :][:2] if now else []
        match step:
            case "append":
                added = self._files(number)
                self._took(self.table.append(added), now | {file.path for file in added})
            case "delete" if some:
                self._took(self.table.delete(paths=some), now - set(some))
            case "overwrite":
                added = self._files(number)
                self._took(self.table.overwrite(added), frozenset(file.path for file in added))
            case "rewrite" if some:
                merged = self._files(1, num_records=None, data_change=False)
                self._took(self.table.rewrite(some, merged), now - set(some) | {merged[0].path})
            case "restore":
                target = number % (max(self.live) + 1)
                receipt = self.table.restore(target)
                if isinstance(receipt, Committed):
                    self._took(receipt, self.live[target])
            case "compact":
                receipt = self.table.compact(full=bool(choice))
                assert isinstance(receipt, Committed)
                if receipt.version not in self.live:
                    self._took(receipt, now)
            case "checkpoint":
                assert self.table.checkpoint() == max(self.live)
            case "clean":
                self._clean(number)

    def _took(self, receipt: object, live: frozenset[str]) -> None:
        assert isinstance(receipt, Committed)
        assert receipt.version == max(self.live) + 1
        self.live[receipt.version] = live

    def _files(self, count: int, **values: object) -> list:  # type: ignore[type-arg]  # of AddFile
        self._drawn += count
        made = [add_file(f"f{self._drawn - place}", **values) for place in range(count)]
        for added in made:
            self.store.put(added.path, b"rows")
        return made

    def _clean(self, number: int) -> None:
        """Below some state, drop every version file, and every other state; as log cleaning would."""
        listing = list_log(self.store)
        if listing.states:
            oldest = listing.states[number % len(listing.states)]
            self.store.delete(version_key(version) for version in listing.versions if version < oldest)
            self.store.delete(state_key(state) for state in listing.states if state < oldest and state % 2)


@given(interval=st.integers(1, 6), steps=STEPS)
# The first restore leaves a tombstone without an entry; the second brings back the file that it names.
@example(interval=2, steps=[*[("append", 1)] * 10, ("delete", 0), ("restore", 1), ("restore", 28)])
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_the_past_is_what_it_was(interval: int, steps: list[tuple[str, object]]) -> None:
    """Snapshots equal the model, changes the difference of any two, and times lead back to their versions."""
    past = _Past(interval)
    for step, choice in steps:
        past.run(step, choice)
    table = opened(past.store)
    ranges = table.reader.retained(table.reader.full_listing())
    retained = [version for low, high in ranges for version in range(low, high + 1)]
    assert {version: frozenset(table.snapshot(version).paths()) for version in retained} == {
        version: past.live[version] for version in retained
    }
    for since in [-1, *retained]:
        before = past.live.get(since, frozenset())
        for until in (version for version in retained if version > since):
            changes = table.changes(since, until)
            added = frozenset(changes.added.column("path").to_pylist())
            removed = frozenset(changes.removed.column("path").to_pylist())
            assert (added, removed) == (past.live[until] - before, before - past.live[until])
    told = {entry.version: entry.time for entry in table.history() if entry.version in retained}
    assert sorted(told) == retained
    assert {version: table.snapshot(timestamp=told[version]).version for version in retained} == {
        version: version for version in retained
    }


@given(interval=st.integers(1, 6), steps=STEPS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_changes_by_version_add_up_to_the_snapshot(interval: int, steps: list[tuple[str, object]]) -> None:
    past = _Past(interval)
    for step, choice in steps:
        past.run(step, choice)
    table = opened(past.store)
    low, _ = table.reader.retained(table.reader.full_listing())[-1]
    live = set(past.live[low])
    for changes in table.changes_by_version(low):
        live -= set(changes.removed.column("path").to_pylist())
        live |= set(changes.added.column("path").to_pylist())
        assert live == past.live[changes.version]


def test_a_cleaned_version_stays_gone() -> None:
    past = _Past(2)
    for number in range(6):
        past.run("append", 1 + number % 2)
    past.store.delete([version_key(version) for version in range(4)] + [state_key(2)])
    with pytest.raises(VersionNotRetained):
        opened(past.store).snapshot(version=3)
