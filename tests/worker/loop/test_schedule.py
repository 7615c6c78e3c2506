"""The schedule alone: facts in, decisions out, under a clock that the test holds in its hand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headgate_schemas.actions.actions import AddFile
from headgate_worker.limits import RoleTerms, ScheduleLimits
from headgate_worker.loop.schedule import Decision, PlanTable, RunTask, Schedule
from headgate_worker.roles.interface import CleanTask, CompactTask, MergeTask, Trigger

SECOND = 1_000
TERMS = {
    "compact": RoleTerms(after_commits=3, at_once_after=frozenset({"Rewrite"}), cooldown_ms=60 * SECOND),
    "clean": RoleTerms(after_commits=1, cooldown_ms=3_600 * SECOND),
}
LIMITS = ScheduleLimits(
    parallel_tasks=2,
    task_bytes=1_000,
    tables=4,
    first_backoff_ms=10 * SECOND,
    longest_backoff_ms=100 * SECOND,
    lag_proposals=5,
)


def a_schedule(*roles: str, limits: ScheduleLimits = LIMITS) -> Schedule:
    return Schedule(roles or ("compact",), limits, TERMS)


def merge_of(size: int, table: str = "t") -> MergeTask:
    return MergeTask(table, (AddFile(path="a.parquet", partition_values={}, size=size, modification_time=0),))


def looks(schedule: Schedule, now_ms: int) -> list[str]:
    """The tables that are looked at; every look ends at once, and finds nothing."""
    seen = []
    while decisions := schedule.decide(now_ms):
        for decision in decisions:
            assert isinstance(decision, PlanTable)
            seen.append(decision.table)
            schedule.planned(decision.table, decision.role, (), now_ms)
    return seen


def commit(schedule: Schedule, *tables: str, times: int = 1, operation: str = "Append", now_ms: int = 0) -> None:
    for table in tables:
        for _ in range(times):
            schedule.saw_commit(table, operation, now_ms)


# When a table is looked at


def test_a_table_is_not_looked_at_before_enough_commits() -> None:
    schedule = a_schedule()
    commit(schedule, "t", times=2)
    assert schedule.decide(0) == []


def grouped(schedule: Schedule, *, removed_files: int = 0) -> Sequence[Decision]:
    """What comes of one version that holds operations of several kinds."""
    schedule.saw_commit("t", "Group", 0, added_files=1, removed_files=removed_files)
    return schedule.decide(0)


def test_a_group_that_removed_files_may_hold_the_operation_that_is_waited_for() -> None:
    """Break: a group counts only where it is named."""
    assert grouped(a_schedule(), removed_files=1) == [PlanTable("t", "compact")]


def test_a_group_without_removed_files_holds_no_merge() -> None:
    assert grouped(a_schedule()) == []


def test_a_group_may_hold_operations_that_do_not_show_by_what_they_remove() -> None:
    terms = {"compact": replace(TERMS["compact"], at_once_after=frozenset({"Rewrite", "Skip"}))}
    assert grouped(Schedule(["compact"], LIMITS, terms)) == [PlanTable("t", "compact")]


def test_a_group_is_any_other_version_to_a_role_that_waits_for_none() -> None:
    terms = {"compact": replace(TERMS["compact"], at_once_after=frozenset())}
    assert grouped(Schedule(["compact"], LIMITS, terms), removed_files=1) == []


def test_a_table_is_looked_at_after_enough_commits() -> None:
    schedule = a_schedule()
    commit(schedule, "t", times=3)
    assert schedule.decide(0) == [PlanTable("t", "compact")]


def test_some_operations_are_worth_a_look_at_once() -> None:
    schedule = a_schedule()
    commit(schedule, "t", operation="Rewrite")
    assert schedule.decide(0) == [PlanTable("t", "compact")]


def test_each_role_looks_by_its_own_terms() -> None:
    schedule = a_schedule("compact", "clean")
    commit(schedule, "t")
    assert schedule.decide(0) == [PlanTable("t", "clean")]


def test_a_role_without_terms_has_the_usual_ones() -> None:
    schedule = a_schedule("merge")
    commit(schedule, "t")
    assert schedule.decide(0) == [PlanTable("t", "merge")]


def test_a_look_may_wait_for_what_comes_behind_the_commit() -> None:
    schedule = Schedule(["compact"], LIMITS, {"compact": RoleTerms(delay_ms=10)})
    commit(schedule, "t", now_ms=100)
    commit(schedule, "t", now_ms=105)
    assert schedule.decide(109) == []
    assert schedule.decide(110) == [PlanTable("t", "compact")]


def test_the_sweep_looks_at_known_tables_without_an_event() -> None:
    schedule = a_schedule()
    commit(schedule, "t")
    schedule.sweep((), 0)
    assert looks(schedule, 0) == ["t"]


def test_the_sweep_looks_at_tables_that_no_event_has_named() -> None:
    schedule = a_schedule()
    schedule.sweep(["quiet"], 0)
    assert looks(schedule, 0) == ["quiet"]


def test_between_two_looks_lies_the_cooldown() -> None:
    schedule = a_schedule()
    commit(schedule, "t", times=3)
    looks(schedule, 0)
    commit(schedule, "t", times=3, now_ms=1)
    assert schedule.decide(59_999) == []
    assert schedule.decide(60_000) == [PlanTable("t", "compact")]


def test_commits_while_a_look_is_under_way_count_for_the_next() -> None:
    schedule = a_schedule()
    commit(schedule, "t", times=3)
    schedule.decide(0)
    commit(schedule, "t", times=3)
    schedule.planned("t", "compact", (), 0)
    assert schedule.decide(60_000) == [PlanTable("t", "compact")]


def test_it_is_told_when_the_next_table_is_due() -> None:
    schedule = a_schedule()
    assert schedule.ready_at_ms() is None
    commit(schedule, "t", times=3)
    looks(schedule, 0)
    commit(schedule, "t", times=3)
    assert schedule.ready_at_ms() == 60_000


# What is planned


def test_what_was_planned_is_run_one_task_after_the_other() -> None:
    schedule = a_schedule()
    tasks = [CompactTask("t", "first", 0), CompactTask("t", "second", 0)]
    schedule.sweep(["t"], 0)
    schedule.decide(0)
    schedule.planned("t", "compact", tasks, 0)
    assert schedule.decide(0) == [RunTask("t", "compact", tasks[0])]
    assert schedule.decide(0) == []
    schedule.finished("t", "compact", 0)
    assert schedule.decide(0) == [RunTask("t", "compact", tasks[1])]


def test_more_tasks_than_are_kept_are_planned_again() -> None:
    schedule = a_schedule(limits=ScheduleLimits(planned_tasks=1))
    schedule.sweep(["t"], 0)
    schedule.decide(0)
    schedule.planned("t", "compact", [CleanTask("t"), CleanTask("t")], 0)
    schedule.decide(0)
    schedule.finished("t", "compact", 0)
    assert schedule.decide(60_000) == [PlanTable("t", "compact")]


def test_a_role_that_knows_of_more_to_do_looks_again_at_once() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    schedule.decide(0)
    schedule.planned("t", "compact", [CleanTask("t")], 0)
    schedule.decide(0)
    schedule.finished("t", "compact", 5, more=True)
    assert schedule.decide(5) == [PlanTable("t", "compact")]


# Failures


def test_after_a_failure_the_table_is_left_alone_for_a_while() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    schedule.decide(0)
    schedule.failed("t", "compact", 0)
    assert schedule.decide(9_999) == []
    assert schedule.decide(10_000) == [PlanTable("t", "compact")]


def test_the_pause_after_failures_doubles_up_to_its_bound() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    now_ms, pauses = 0, []
    for _ in range(6):
        assert schedule.decide(now_ms) == [PlanTable("t", "compact")]
        schedule.failed("t", "compact", now_ms)
        ready_ms = schedule.ready_at_ms()
        assert ready_ms is not None
        pauses.append((ready_ms - now_ms) // SECOND)
        now_ms = ready_ms
    assert pauses == [10, 20, 40, 80, 100, 100]


def test_a_look_that_works_ends_the_growing_of_pauses() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    schedule.decide(0)
    schedule.failed("t", "compact", 0)
    looks(schedule, 10_000)
    schedule.sweep((), 100_000)
    schedule.decide(100_000)
    schedule.failed("t", "compact", 100_000)
    assert schedule.ready_at_ms() == 110_000


def test_a_failing_role_keeps_no_other_from_the_table() -> None:
    schedule = a_schedule("compact", "clean")
    schedule.sweep(["t"], 0)
    schedule.decide(0)
    schedule.failed("t", "compact", 0)
    schedule.planned("t", "clean", [CleanTask("t")], 0)
    assert schedule.decide(0) == [RunTask("t", "clean", CleanTask("t"))]


def test_a_failure_forgets_what_was_planned() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    schedule.decide(0)
    schedule.planned("t", "compact", [CleanTask("t"), CleanTask("t")], 0)
    schedule.decide(0)
    schedule.failed("t", "compact", 0)
    assert schedule.decide(10_000) == [PlanTable("t", "compact")]


# Losses


def looked(schedule: Schedule, now_ms: int, *tasks: CleanTask) -> None:
    """A look that plans these; the first of them is begun."""
    assert schedule.decide(now_ms) == [PlanTable("t", "compact")]
    schedule.planned("t", "compact", tasks, now_ms)
    assert schedule.decide(now_ms) == [RunTask("t", "compact", tasks[0])]


def pause_after(schedule: Schedule, now_ms: int) -> int:
    ready_ms = schedule.ready_at_ms()
    assert ready_ms is not None
    return ready_ms - now_ms


def test_what_was_lost_to_others_is_planned_again_at_once() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    looked(schedule, 0, CleanTask("t"))
    schedule.lost("t", "compact", 5)
    assert schedule.decide(5) == [PlanTable("t", "compact")]


def test_the_pause_after_losses_in_a_row_doubles_up_to_its_bound() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    now_ms, pauses = 0, []
    for _ in range(7):
        looked(schedule, now_ms, CleanTask("t"))
        schedule.lost("t", "compact", now_ms)
        pauses.append(pause_after(schedule, now_ms) // SECOND)
        now_ms += pauses[-1] * SECOND
    assert pauses == [0, 10, 20, 40, 80, 100, 100]


@pytest.mark.parametrize("is_lost_first", [True, False])
def test_what_is_done_beside_a_loss_does_not_end_the_growing_of_pauses(is_lost_first: bool) -> None:
    """Break: `finished` forgets of losses whatever else became of its look."""
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    now_ms, pauses = 0, []
    for _ in range(7):
        looked(schedule, now_ms, CleanTask("t"), CleanTask("t"))
        ends = [schedule.lost, schedule.finished]
        for end in ends if is_lost_first else ends[::-1]:
            if not schedule.running:
                schedule.decide(now_ms)
            end("t", "compact", now_ms)
        pauses.append(pause_after(schedule, now_ms) // SECOND)
        now_ms += pauses[-1] * SECOND
    assert pauses[-2:] == [100, 100]


def test_a_look_that_loses_nothing_ends_the_growing_of_pauses() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    for _ in range(2):
        looked(schedule, 0, CleanTask("t"))
        schedule.lost("t", "compact", 0)
    looked(schedule, 10_000, CleanTask("t"))
    schedule.finished("t", "compact", 10_000)
    schedule.sweep((), 100_000)
    looked(schedule, 100_000, CleanTask("t"))
    schedule.lost("t", "compact", 100_000)
    assert schedule.ready_at_ms() == 100_000


# Bounds


def test_no_more_runs_side_by_side_than_allowed() -> None:
    schedule = a_schedule()
    schedule.sweep(["a", "b", "c"], 0)
    assert [decision.table for decision in schedule.decide(0)] == ["a", "b"]
    schedule.planned("a", "compact", (), 0)
    assert [decision.table for decision in schedule.decide(0)] == ["c"]


def test_tasks_that_weigh_too_much_together_run_one_after_the_other() -> None:
    schedule = a_schedule("merge", limits=ScheduleLimits(parallel_tasks=2, task_bytes=1_000))
    schedule.sweep(["a", "b"], 0)
    schedule.decide(0)
    for table in ("a", "b"):
        schedule.planned(table, "merge", [merge_of(600, table)], 0)
    assert [decision.table for decision in schedule.decide(0)] == ["a"]
    schedule.finished("a", "merge", 0)
    assert [decision.table for decision in schedule.decide(0)] == ["b"]


def test_a_task_above_the_bound_runs_alone() -> None:
    schedule = a_schedule("merge")
    schedule.sweep(["a"], 0)
    schedule.decide(0)
    schedule.planned("a", "merge", [merge_of(5_000, "a")], 0)
    assert [decision.table for decision in schedule.decide(0)] == ["a"]


def test_small_tasks_do_not_overtake_a_large_one_for_ever() -> None:
    schedule = a_schedule("merge", limits=ScheduleLimits(parallel_tasks=3, task_bytes=1_000))
    schedule.sweep(["a", "b", "c"], 0)
    schedule.decide(0)
    for table, size in (("a", 600), ("b", 900), ("c", 100)):
        schedule.planned(table, "merge", [merge_of(size, table)], 0)
    assert [decision.table for decision in schedule.decide(0)] == ["a"]
    schedule.finished("a", "merge", 0)
    assert [decision.table for decision in schedule.decide(0)] == ["b", "c"]


def test_the_table_that_was_quiet_longest_is_forgotten_for_another() -> None:
    schedule = a_schedule()
    commit(schedule, "a", "b", "c", "d", "a", "e")
    assert list(schedule.tables) == ["c", "d", "a", "e"]


def test_a_table_that_is_forgotten_is_not_looked_at() -> None:
    schedule = a_schedule()
    commit(schedule, "t", times=3)
    schedule.forget(["t"])
    assert schedule.decide(0) == []


def test_what_ends_at_a_forgotten_table_makes_room_for_others() -> None:
    schedule = a_schedule(limits=ScheduleLimits(parallel_tasks=1))
    schedule.sweep(["a", "b"], 0)
    schedule.decide(0)
    schedule.forget(["a"])
    schedule.planned("a", "compact", [CleanTask("a")], 0)
    assert schedule.decide(0) == [PlanTable("b", "compact")]


def test_a_table_that_comes_back_waits_for_what_is_still_under_way() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    schedule.decide(0)
    schedule.forget(["t"])
    schedule.sweep(["t"], 0)
    assert schedule.decide(0) == []
    schedule.failed("t", "compact", 0)
    assert schedule.decide(10_000) == [PlanTable("t", "compact")]


# Yielding


def test_nothing_is_begun_while_the_committer_is_behind() -> None:
    schedule = a_schedule()
    schedule.sweep(["t"], 0)
    schedule.saw_lag(6)
    assert schedule.decide(0) == []
    schedule.saw_lag(5)
    assert schedule.decide(0) == [PlanTable("t", "compact")]


# Whatever happens

TABLES = [f"t{number}" for number in range(6)]
ROLES = ("compact", "clean", "merge")


@dataclass
class _Under:
    decision: Decision
    begun_ms: int


class AnyHistory(RuleBasedStateMachine):
    """Random facts; what was begun is remembered beside the schedule, and compared with its promises."""

    def __init__(self) -> None:
        super().__init__()
        self.schedule = a_schedule(*ROLES)
        self.now_ms = 0
        self.lag = 0
        self.under_way: list[_Under] = []
        self.cool_until: dict[tuple[str, str], int] = {}

    @rule(table=st.sampled_from(TABLES), operation=st.sampled_from(["Append", "Rewrite"]))
    def commit(self, table: str, operation: str) -> None:
        self.note_forgotten(lambda: self.schedule.saw_commit(table, operation, self.now_ms))

    @rule(tables=st.lists(st.sampled_from(TABLES), max_size=3))
    def sweep(self, tables: list[str]) -> None:
        self.note_forgotten(lambda: self.schedule.sweep(tables, self.now_ms))

    @rule(table=st.sampled_from(TABLES))
    def forget(self, table: str) -> None:
        self.note_forgotten(lambda: self.schedule.forget([table]))

    def note_forgotten(self, act: Callable[[], None]) -> None:
        before = dict(self.schedule._tables)
        act()
        # By what is known of each: a table may have made room for others, and have come back, within one sweep.
        known = {table for table, desks in self.schedule._tables.items() if before.get(table) is desks}
        self.cool_until = {key: until_ms for key, until_ms in self.cool_until.items() if key[0] in known}

    @rule(lag=st.integers(0, 10))
    def hear_of_lag(self, lag: int) -> None:
        self.lag = lag
        self.schedule.saw_lag(lag)

    @rule(passed_ms=st.integers(1, 100 * SECOND))
    def wait(self, passed_ms: int) -> None:
        self.now_ms += passed_ms

    @rule()
    def decide(self) -> None:
        decisions = self.schedule.decide(self.now_ms)
        assert not (decisions and self.lag > LIMITS.lag_proposals)
        for decision in decisions:
            key = (decision.table, decision.role)
            assert key not in {(item.decision.table, item.decision.role) for item in self.under_way}
            assert decision.table in self.schedule.tables
            if isinstance(decision, PlanTable):
                assert self.now_ms >= self.cool_until.get(key, 0)
            self.under_way.append(_Under(decision, self.now_ms))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        item = self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))
        table, role = item.decision.table, item.decision.role
        cooled_ms = self.now_ms + self.terms(role).cooldown_ms
        match data.draw(st.sampled_from(["works", "fails", "loses"])), item.decision:
            case "fails", _:
                self.schedule.failed(table, role, self.now_ms)
                cooled_ms = self.now_ms + LIMITS.first_backoff_ms
            case _, PlanTable():
                sizes = data.draw(st.lists(st.integers(0, 1_500), max_size=3))
                self.schedule.planned(table, role, [merge_of(size, table) for size in sizes], self.now_ms)
            case "loses", RunTask():
                self.schedule.lost(table, role, self.now_ms)
                cooled_ms = self.now_ms
            case _, RunTask():
                self.schedule.finished(table, role, self.now_ms)
        if table in self.schedule.tables:
            self.cool_until[table, role] = cooled_ms

    def terms(self, role: str) -> RoleTerms:
        return TERMS.get(role, RoleTerms())

    @invariant()
    def what_runs_is_bounded(self) -> None:
        assert len(self.under_way) <= LIMITS.parallel_tasks
        assert set(self.schedule.running) == {(item.decision.table, item.decision.role) for item in self.under_way}
        weights = [item.decision.task.weight_bytes for item in self.under_way if isinstance(item.decision, RunTask)]
        heavy = [weight for weight in weights if weight]
        assert sum(weights) <= LIMITS.task_bytes or len(heavy) == 1

    @invariant()
    def what_is_remembered_is_bounded(self) -> None:
        assert len(self.schedule.tables) <= LIMITS.tables

    def teardown(self) -> None:
        """Whatever came before: with nothing in the way, every known table is served by every role."""
        self.schedule.saw_lag(0)
        for item in self.under_way:
            self.schedule.failed(item.decision.table, item.decision.role, self.now_ms)
        self.under_way = []
        wanted = {(table, role) for table in self.schedule.tables for role in ROLES}
        self.schedule.sweep((), self.now_ms)
        for _ in range(200):
            for decision in self.schedule.decide(self.now_ms):
                if isinstance(decision, RunTask):
                    self.schedule.finished(decision.table, decision.role, self.now_ms)
                else:
                    wanted.discard((decision.table, decision.role))
                    self.schedule.planned(decision.table, decision.role, (), self.now_ms)
            ready_ms = self.schedule.ready_at_ms()
            if ready_ms is None:
                break
            self.now_ms = max(self.now_ms, ready_ms)
        assert wanted == set()


TestAnyHistory = AnyHistory.TestCase


@given(weights=st.lists(st.integers(1, 900), min_size=2, max_size=4), rounds=st.integers(3, 10))
def test_busy_tables_are_served_in_turn(weights: list[int], rounds: int) -> None:
    """Every table always has more to do; none is ever two tasks ahead of another."""
    schedule = a_schedule("merge", limits=ScheduleLimits(parallel_tasks=1, task_bytes=1_000))
    tables = {f"t{number}": weight for number, weight in enumerate(weights)}
    schedule.sweep(tables, 0)
    for _ in tables:
        (decision,) = schedule.decide(0)
        tasks = [merge_of(tables[decision.table], decision.table)] * (rounds + 1)
        schedule.planned(decision.table, "merge", tasks, 0)
    served = dict.fromkeys(tables, 0)
    for _ in range(rounds * len(tables)):
        (decision,) = schedule.decide(0)
        served[decision.table] += 1
        schedule.finished(decision.table, "merge", 0)
        assert max(served.values()) - min(served.values()) <= 1


@pytest.mark.parametrize("commits", [1, 1_000])
def test_the_queue_stays_small_however_often_tables_come_and_go(commits: int) -> None:
    schedule = a_schedule()
    for number in range(commits):
        table = f"t{number}"
        schedule.sweep([table], 0)
        looks(schedule, 0)
        schedule.sweep((), 0)
    assert len(schedule._queue) <= 2 * LIMITS.tables + 100


# What a table's own settings make urgent

EAGER = {"merge": RoleTerms(cooldown_ms=600 * SECOND, eager_cooldown_ms=5 * SECOND)}


def an_eager_schedule(trigger: Trigger | None, *, began_ms: int = 0) -> Schedule:
    """One table that was looked at, with this to wait for."""
    schedule = Schedule(("merge",), LIMITS, EAGER)
    schedule.saw_commit("t", "Append", began_ms)
    assert schedule.decide(began_ms) == [PlanTable("t", "merge")]
    schedule.planned("t", "merge", (), began_ms, trigger)
    return schedule


def test_a_table_waits_for_its_cooldown_unless_something_is_urgent() -> None:
    schedule = an_eager_schedule(None)
    schedule.saw_commit("t", "Append", SECOND, added_files=1_000)
    assert schedule.ready_at_ms() == 600 * SECOND


def test_files_enough_make_a_look_urgent() -> None:
    schedule = an_eager_schedule(Trigger(added_files=10))
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=4)
    assert schedule.decide(20 * SECOND) == []
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=6)
    assert schedule.decide(20 * SECOND) == [PlanTable("t", "merge")]


def test_writes_enough_make_a_look_urgent() -> None:
    schedule = an_eager_schedule(Trigger(writes=2))
    for operation in ("Append", "CompactState", "Purge", "Skip", "Reject"):
        schedule.saw_commit("t", operation, 20 * SECOND)
    assert schedule.decide(20 * SECOND) == []
    schedule.saw_commit("t", "Delete", 20 * SECOND)
    assert schedule.decide(20 * SECOND) == [PlanTable("t", "merge")]


def test_a_merge_makes_a_look_urgent_where_it_is_waited_for() -> None:
    schedule = an_eager_schedule(Trigger(after_merge=True))
    schedule.saw_commit("t", "Append", 20 * SECOND)
    assert schedule.decide(20 * SECOND) == []
    schedule.saw_commit("t", "Rewrite", 20 * SECOND)
    assert schedule.decide(20 * SECOND) == [PlanTable("t", "merge")]


def test_a_group_that_removed_files_may_hold_a_merge() -> None:
    schedule = an_eager_schedule(Trigger(after_merge=True))
    schedule.saw_commit("t", "Group", 20 * SECOND, added_files=5)
    assert schedule.decide(20 * SECOND) == []
    schedule.saw_commit("t", "Group", 20 * SECOND, added_files=5, removed_files=1)
    assert schedule.decide(20 * SECOND) == [PlanTable("t", "merge")]


def test_what_a_merge_has_written_is_no_reason_for_the_next() -> None:
    schedule = an_eager_schedule(Trigger(added_files=1))
    schedule.saw_commit("t", "Rewrite", 20 * SECOND, added_files=5)
    assert schedule.decide(20 * SECOND) == []


def test_new_settings_are_looked_at_soon() -> None:
    schedule = an_eager_schedule(None)
    schedule.saw_commit("t", "Alter", 20 * SECOND)
    assert schedule.decide(20 * SECOND) == [PlanTable("t", "merge")]


def test_urgent_looks_keep_a_pause_between_them() -> None:
    schedule = an_eager_schedule(Trigger(added_files=1))
    schedule.saw_commit("t", "Append", SECOND, added_files=1)
    assert schedule.ready_at_ms() == 5 * SECOND


def test_a_pause_after_failures_is_not_cut_short() -> None:
    schedule = an_eager_schedule(Trigger(added_files=1))
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=1)
    schedule.decide(20 * SECOND)
    schedule.failed("t", "merge", 20 * SECOND)
    schedule.saw_commit("t", "Append", 21 * SECOND, added_files=1)
    assert schedule.ready_at_ms() == 30 * SECOND


def test_a_pause_after_losses_is_not_cut_short() -> None:
    """Break: `_hurry` looks at failures alone."""
    schedule = an_eager_schedule(Trigger(added_files=1))
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=1)
    for _ in range(2):
        assert schedule.decide(20 * SECOND) == [PlanTable("t", "merge")]
        schedule.planned("t", "merge", [merge_of(1)], 20 * SECOND, Trigger(added_files=1))
        schedule.decide(20 * SECOND)
        schedule.lost("t", "merge", 20 * SECOND)
    schedule.saw_commit("t", "Append", 21 * SECOND, added_files=1)
    assert schedule.ready_at_ms() == 30 * SECOND


def test_files_that_come_while_a_look_is_under_way_count_for_the_next() -> None:
    schedule = an_eager_schedule(Trigger(added_files=1))
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=1)
    assert schedule.decide(20 * SECOND) == [PlanTable("t", "merge")]
    schedule.saw_commit("t", "Append", 21 * SECOND, added_files=3)
    schedule.planned("t", "merge", (), 22 * SECOND, Trigger(added_files=3))
    assert schedule.ready_at_ms() == 27 * SECOND


def test_files_that_come_while_a_task_runs_count_for_the_look_after_it() -> None:
    schedule = an_eager_schedule(Trigger(added_files=1))
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=1)
    schedule.decide(20 * SECOND)
    schedule.planned("t", "merge", [merge_of(1)], 20 * SECOND, Trigger(added_files=3))
    assert schedule.decide(20 * SECOND) == [RunTask("t", "merge", merge_of(1))]
    schedule.saw_commit("t", "Append", 21 * SECOND, added_files=3)
    schedule.finished("t", "merge", 30 * SECOND)
    assert schedule.ready_at_ms() == 35 * SECOND


def test_what_the_last_look_waits_for_counts_and_nothing_before() -> None:
    schedule = an_eager_schedule(Trigger(added_files=2))
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=2)
    schedule.decide(20 * SECOND)
    schedule.planned("t", "merge", (), 20 * SECOND)
    schedule.saw_commit("t", "Append", 30 * SECOND, added_files=9)
    assert schedule.ready_at_ms() == 620 * SECOND


def test_a_busy_table_keeps_its_place_in_the_queue() -> None:
    """Else every commit would put it behind the others again."""
    schedule = an_eager_schedule(Trigger(added_files=1))
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=1)
    schedule.saw_commit("other", "Append", 20 * SECOND, added_files=1)
    schedule.saw_commit("t", "Append", 20 * SECOND, added_files=1)
    assert looks(schedule, 20 * SECOND) == ["t", "other"]
