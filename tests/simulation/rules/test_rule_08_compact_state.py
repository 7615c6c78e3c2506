"""Rule 8: a swap of manifests is in the log, holds the same live files, and its manifests are roots until its state stands.

Without it: a swap that lost a file makes the file disappear; or cleaning takes the new manifests before the state names them.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from headgate_committer.limits import CommitterLimits
from headgate_schemas.messages.operations import Append, Committed, CompactState, Delete, RejectCode, Rejected
from headgate_table.indextables.compaction.compactor import Compactor
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.write.manifest_writer import write_manifest
from headgate_table.table import Table
from support.simulation.actors.committers import SETTINGS, CommitterSeat
from support.simulation.actors.maintenance import FLOORS
from support.simulation.actors.workers import WorkerSeat
from support.simulation.scenario import TABLE, Scenario
from support.simulation.world.faults import Fault
from support.simulation.world.scheduler import Process

Change = Callable[[Table, Process, CompactState], CompactState]


def _unchanged(table: Table, process: Process, swap: CompactState) -> CompactState:
    return swap


def _swap(play: Scenario, change: Change = _unchanged) -> CompactState:
    """A swap of all manifests of the newest state, as a worker plans it."""

    def prepare(process: Process) -> CompactState:
        table = play.table(process, TABLE)
        state = table.reader.latest().state
        assert state is not None
        work = Compactor(table.reader, play.ambient(process), table.options)
        swap = work.prepare(state, work.plan(state, full=True), table.metadata)
        return change(table, process, swap)

    return play.by("worker", prepare)


def test_a_swap_that_lost_a_file_is_refused() -> None:
    with Scenario() as play:
        play.committer("committer")
        for _ in range(2):
            play.direct(Append((play.file(), play.file())), interval=1)

        def without_one(table: Table, process: Process, swap: CompactState) -> CompactState:
            entries, _ = read_entries(table.store, table.reader.resources, table.reader.latest(), ALL_COLUMNS)
            short = write_manifest(table.store, play.ambient(process), table.options, entries.slice(1), table.metadata)
            return replace(swap, adds=(short,))

        proposal = play.decided(play.propose(_swap(play, without_one)))
        (receipt,) = play.told(proposal)
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.BASE_GONE


def test_a_remove_that_came_after_the_base_stays_removed_by_the_swap() -> None:
    with Scenario() as play:
        play.committer("committer")
        files = [play.file() for _ in range(4)]
        for start in (0, 2):
            play.direct(Append(tuple(files[start : start + 2])), interval=1)
        swap = _swap(play)
        play.direct(Delete((files[0].path,)), interval=1)
        proposal = play.decided(play.propose(swap))
        play.run_for(1)
        assert isinstance(play.told(proposal)[0], Committed | Rejected)
        assert files[0].path not in play.by("reader", lambda process: play.table(process, TABLE).snapshot().paths())


def test_manifests_of_a_swap_whose_state_was_never_written_outlive_a_cleaning() -> None:
    with Scenario() as play:
        committer = play.committer("committer")
        for _ in range(2):
            play.direct(Append((play.file(),)), interval=1)
        swap = _swap(play)
        play.faults.plan(Fault.DIES_AFTER, "store.create", "00003.json", process="committer")
        play.propose(swap)
        process = committer.process
        assert process is not None
        play.until(lambda: process.is_over, "the death of the committer")
        play.days(2)
        settings = {**SETTINGS, "purge.retentionCheckEnabled": "false", "state.gc.minManifestAgeHours": "0"}
        play.by("cleaner", lambda process: play.table(process, TABLE, settings).purge(0, 0))
        names = [f"_transaction_log/{manifest.path}" for manifest in swap.adds]
        assert all(play.model.store.head(name) is not None for name in names)


def test_a_state_that_took_too_long_starts_again_under_new_names() -> None:
    with Scenario() as play:
        play.direct(Append((play.file(),)), interval=1)
        play.direct(Append((play.file(),)))
        play.run_for(1)
        slow, done = play.begun("slow", lambda process: play.table(process, TABLE).checkpoint())
        play.halt(slow, "store.put", "manifests/", after=True)
        play.days(1 / 24)
        settings = {**SETTINGS, "purge.retentionCheckEnabled": "false", "state.gc.minManifestAgeHours": "0"}
        play.by("cleaner", lambda process: play.table(process, TABLE, settings).purge(0, 0))
        slow.thaw()
        play.until(lambda: bool(done), "the slow writer's end")
        assert max(play.model.states) == 2


def test_a_swap_that_is_accepted_while_another_state_is_written_is_in_its_own_state() -> None:
    with Scenario() as play:
        for _ in range(3):
            play.direct(Append((play.file(), play.file())), interval=1)
        swap = _swap(play)
        play.propose()
        play.propose()
        proposal = play.propose(swap)
        for _ in range(4):
            play.propose()
        play.committer("committer", interval=2, limits=CommitterLimits(group_proposals=1))
        play.settle()
        (receipt,) = play.told(proposal)
        assert isinstance(receipt, Committed)
        manifests = play.model.states[receipt.version].manifests
        assert all(any(listed.endswith(new.path) for listed in manifests) for new in swap.adds)


def _uncompact(play: Scenario) -> CommitterSeat:
    """A state with several manifests and a tombstone."""
    play.model.floors = FLOORS
    committer = play.committer("committer", interval=1)
    files = [play.file() for _ in range(4)]
    for file in files:
        play.decided(play.propose(Append((file,))))
    play.decided(play.propose(Delete((files[0].path,))))
    play.run_for(1)
    return committer


def _worker(play: Scenario, name: str, role: str) -> WorkerSeat:
    return play.worker(name, role, state__compaction__maxManifests="1")


def test_a_compaction_that_another_overtook_is_refused_and_planned_again() -> None:
    with Scenario() as play:
        _uncompact(play)
        zombie = _worker(play, "zombie", "compact")
        play.halt(zombie.process, "bus.append", "proposals")
        play.lose_place(zombie)
        _worker(play, "successor", "compact")
        play.until(lambda: play.model.swaps == 1, "a compaction")
        play.run_for(1)
        assert zombie.process is not None
        zombie.process.thaw()
        play.logged("compaction_refused", zombie)
        play.settle()
        assert play.model.swaps == 1
        assert len(play.model.live()) == 3


def test_a_file_that_was_removed_while_its_state_was_compacted_stays_removed() -> None:
    with Scenario() as play:
        _uncompact(play)
        worker = _worker(play, "worker", "compact")
        play.halt(worker.process, "bus.append", "proposals")
        removed = min(play.model.live())
        play.decided(play.propose(Delete((removed,))))
        assert worker.process is not None
        worker.process.thaw()
        play.logged("task_done", worker)
        play.run_for(1)
        assert removed not in play.by("reader", lambda process: play.table(process, TABLE).snapshot().paths())


def test_manifests_of_a_swap_that_waits_for_its_decision_outlive_a_cleaning() -> None:
    with Scenario() as play:
        play.ended(_uncompact(play))
        worker = _worker(play, "worker", "compact")
        play.halt(worker.process, "bus.append", "proposals", after=True)
        play.ended(worker)
        play.days(1)
        cleaning = _worker(play, "cleaner", "clean")
        play.logged("task_done", cleaning)
        play.ended(cleaning)
        play.committer("second", interval=1)
        play.settle()
        assert play.model.swaps == 1


def test_manifests_of_a_swap_that_was_proposed_behind_a_cleaners_back_stay() -> None:
    with Scenario() as play:
        play.ended(_uncompact(play))
        cleaning = _worker(play, "cleaner", "clean")
        play.halt(cleaning.process, "bus.source", "")
        play.lose_place(cleaning)
        worker = _worker(play, "worker", "compact")
        play.halt(worker.process, "bus.append", "proposals", after=True)
        play.ended(worker)
        play.days(1)
        assert cleaning.process is not None
        cleaning.process.thaw()
        play.logged("task_done", cleaning)
        play.committer("second", interval=1)
        play.settle()
        assert play.model.swaps == 1


def test_a_swap_that_was_proposed_too_late_is_refused() -> None:
    """A cleaner looked at the bus before, and deletes what it found unused then."""
    with Scenario() as play:
        _uncompact(play)
        slow = _worker(play, "slow", "compact")
        play.halt(slow.process, "bus.append", "proposals")
        play.lose_place(slow)
        play.days(1)
        cleaning = _worker(play, "cleaner", "clean")
        play.halt(cleaning.process, "store.delete", "manifests/")
        assert slow.process is not None
        assert cleaning.process is not None
        slow.process.thaw()
        play.logged("compaction_refused", slow)
        cleaning.process.thaw()
        play.logged("task_done", cleaning)
        assert len(play.by("reader", lambda process: play.table(process, TABLE).snapshot().paths())) == 3


def _swapped_beside_a_committer(play: Scenario) -> None:
    """A committer at version 7 whose base is state 5, while a direct swap has made state 6 out of that."""
    play.committer("committer", interval=4)
    play.committed(5)
    play.run_for(1)
    operator, done = play.begun("operator", lambda process: play.table(process, TABLE).compact())
    play.halt(operator, "store.create", "state 6")
    play.committed(1)
    operator.thaw()
    play.until(lambda: bool(done), "the operator's end")


@pytest.mark.parametrize("hours", [0, 1, 800])
@pytest.mark.parametrize("how", ["truncate", "purge"])
def test_a_committer_names_no_manifest_that_a_swap_beside_it_has_replaced(how: str, hours: int) -> None:
    """Break: write a state without looking whether there is a newer one. The base may have been cleaned long ago."""
    with Scenario() as play:
        _swapped_beside_a_committer(play)
        play.by("tool", lambda process: play.table(process, TABLE).checkpoint())
        play.let_pass(hours)
        settings = {**SETTINGS, "purge.retentionCheckEnabled": "false", "state.gc.minManifestAgeHours": "0"}

        def clean(process: Process) -> object:
            table = play.table(process, TABLE, settings)
            return table.truncate_history() if how == "truncate" else table.purge(24, 0)

        play.by("cleaner", clean)
        play.committed(8)
        play.run_for(1)
        assert max(play.model.states) >= 10
        assert not play.by("judge", lambda process: play.table(process, TABLE).verify(data_files=False).findings)


def test_a_truncation_leaves_what_a_state_under_way_may_name() -> None:
    """Break: delete the manifests of a state at once with it. A writer that looked a moment ago is about to name them."""
    with Scenario() as play:
        for _ in range(4):
            play.direct(Append((play.file(),)), interval=1)
        operator, done = play.begun("operator", lambda process: play.table(process, TABLE).compact())
        play.halt(operator, "store.create", "state 5")
        play.direct(Append((play.file(),)))
        slow, written = play.begun("slow", lambda process: play.table(process, TABLE).checkpoint())
        play.halt(slow, "store.create", "state 6")
        operator.thaw()
        play.until(lambda: bool(done), "the operator's end")
        play.direct(Append((play.file(),)), interval=1)
        report = play.by("cleaner", lambda process: play.table(process, TABLE).truncate_history())
        slow.thaw()
        play.until(lambda: bool(written), "the slow writer's end")
        assert not play.by("judge", lambda process: play.table(process, TABLE).verify(data_files=False).findings)
        assert "state 4 and what came after it stay for" in report.message
        play.let_pass(2)
        play.by("cleaner", lambda process: play.table(process, TABLE).truncate_history())
        assert min(play.model.states) > 4


def test_a_compaction_that_another_state_overtook_is_planned_again() -> None:
    """Break: tell of a swap as done whose state would have been based on one that is not the newest any more."""
    with Scenario() as play:
        for _ in range(4):
            play.direct(Append((play.file(),)), interval=1)
        operator, done = play.begun("operator", lambda process: play.table(process, TABLE).compact())
        play.halt(operator, "store.create", "v5", after=True)
        play.direct(Append((play.file(),)))
        play.by("another", lambda process: play.table(process, TABLE).checkpoint())
        operator.thaw()
        play.until(lambda: bool(done), "the operator's end")
        assert done == [Committed(7, done[0].proposal_id)]
        assert len(play.model.states[7].manifests) == 1
