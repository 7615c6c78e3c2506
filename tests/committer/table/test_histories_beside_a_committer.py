"""Random histories of what others do to the log beside a committer: direct commits, compactions whose state comes late, truncations, and
older copies that are put back and grow. Every version that is left stays readable, and nobody is told of what is gone.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_committer.committer import Committer
from headgate_schemas.messages.operations import Committed, Duplicate
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import CreateOutcome
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.committing.rig import TABLE, Rig
from support.stores.memory import MemoryStore
from support.tables import add_file, fresh_resources

HOUR_MS = 3_600_000
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("propose", "propose", "direct", "compact", "late", "late", "truncate", "truncate", "hour")),
        st.integers(1, 4),
    ),
    min_size=4,
    max_size=12,
)


class _LateStates:
    """A store whose next state waits until others have done something."""

    def __init__(self, store: MemoryStore, meanwhile: Callable[[], None]) -> None:
        self._store, self._meanwhile, self.swaps = store, meanwhile, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def create(self, key: str, data: bytes) -> CreateOutcome:
        if self.swaps and "/state-v" in key:
            self.swaps = 0
            self._meanwhile()
        outcome = self._store.create(key, data)
        self.swaps += key.endswith(".json")  # which is compressed, and of nothing but the swap
        return outcome


def _table(rig: Rig, store: Any, seed: str) -> Table:
    return Table(store, FakeAmbient(seed, rig.ambient.time_ms), fresh_resources(), rig.settings)


def _proposed_all(rig: Rig, committer: Committer, names: list[str]) -> None:
    for name in names:
        _proposed(rig, committer, name)


def _proposed(rig: Rig, committer: Committer, name: str) -> None:
    rig.append(name)
    rig.settle(committer)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from((1, 3, 5, 8)), STEPS)
def test_every_version_stays_readable_whatever_others_compact_and_truncate(
    interval: int, steps: list[tuple[str, int]]
) -> None:
    rig = Rig(interval=interval)
    committer = rig.committer()
    rig.settle(committer)
    for name in ("a", "b", "c"):  # a state of several manifests, which a compaction swaps
        _proposed(rig, committer, name)
        _table(rig, rig.stores[TABLE], name).checkpoint()
    for number, (kind, count) in enumerate(steps):
        names = [f"{number}-{each}" for each in range(count)]
        match kind:
            case "propose":
                for name in names:
                    _proposed(rig, committer, name)
            case "direct":
                for name in names:
                    _table(rig, rig.stores[TABLE], name).append([add_file(name)])
            case "compact":
                _table(rig, rig.stores[TABLE], names[0]).compact()
            case "late":
                late = _LateStates(rig.stores[TABLE], partial(_proposed_all, rig, committer, names))
                _table(rig, late, names[0]).compact()
            case "truncate":
                _table(rig, rig.stores[TABLE], names[0]).truncate_history()
            case _:
                rig.ambient.time_ms += HOUR_MS
        found = rig.table().verify(data_files=False).findings
        assert [str(each) for each in found if each.severity is Severity.ERROR] == []


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from((1, 2, 4, 100)),
    st.integers(0, 4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from((0, 2_000)),
)
def test_nobody_is_told_of_what_an_older_copy_lacks_however_it_has_grown(
    interval: int, before: int, lost: int, beyond: int, waited_ms: int
) -> None:
    rig = Rig(interval=interval)
    committer = rig.committer()
    rig.settle(committer)
    copy: dict[str, bytes] = {}
    for number in range(before + lost):
        if number == before:
            copy = {info.key: rig.stores[TABLE].get(info.key) for info in rig.stores[TABLE].list()}
        rig.append(f"f{number}", proposal_id=f"P{number}")
        rig.settle(committer)
    store = rig.stores[TABLE]
    store.delete([info.key for info in store.list() if info.key not in copy])
    for key, data in copy.items():
        if store.get(key) != data:
            store.put(key, data)
    for number in range(lost + beyond):
        rig.table().append([add_file(f"direct{number}")])
    rig.ambient.time_ms += waited_ms
    rig.receipts()
    rig.append("fresh")
    rig.settle(committer)
    for number in range(before + lost):
        rig.append(f"f{number}", proposal_id=f"P{number}")
        rig.settle(committer)
    told = rig.receipts()
    for number in range(before + lost):
        receipt = told[f"P{number}"]
        assert isinstance(receipt, Duplicate if number < before else Committed)
        assert (
            add_file(f"f{number}").path
            in rig.table().changes(receipt.version - 1, receipt.version).added["path"].to_pylist()
        )
