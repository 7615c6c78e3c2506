"""A run: the processes of a play at work, blows that fall on them, a quiet end, and the verdict."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

from support.processes.waiting import LOOK_S, Overdue
from support.torture.damage import Damage
from support.torture.faults import Blow, Fault, blows
from support.torture.outcome import Limit, Outcome
from support.torture.play import NewPlay, Play
from support.torture.stage.children import Child
from support.torture.stage.line import Weather
from support.torture.stage.scenes import Scene

RECOVERY_LIMIT_S = 90.0
"""How long the system may take to be at work again after a blow."""
TAKE_OVER_LIMIT_S = 90.0
RIVAL_LIMIT_S = 15.0
FROZEN_S = 1.0
"""Where nobody takes over from a committer that is frozen."""
QUIET_LIMIT_S = 180.0
OVERTIME_LIMIT_S = 600.0
RESTART_PAUSE_S = 0.3
WATCH_EVERY_S = 0.25
CLOCKS = (-1.0, -0.1, 0.1, 1.0)
"""How far a clock is off, as a part of what a play allows."""
_READY = {
    "committer": "committer_started",
    "producer": "proposing",
    "writer": "proposing",
    "overwriter": "proposing",
    "worker": "worker_started",
}
"""What a process says when it has begun, and knows what to do when it is told to stop."""


def torture(new_play: NewPlay, scene: Scene, seed: int, limit: Limit, tell: Callable[[str], None]) -> Outcome:
    began = time.monotonic()
    outcome = Outcome()
    with contextlib.ExitStack() as stack:
        run = Run(new_play(scene, seed, stack), scene, outcome, tell)
        try:
            run.begin()
            run.suffer(seed, limit)
            run.end_quietly()
            run.judge()
        except (Overdue, subprocess.TimeoutExpired) as error:
            outcome.violations.append(str(error))
            outcome.violations += run.last_words()
    outcome.took_s = time.monotonic() - began
    return outcome


class Run:
    def __init__(self, play: Play, scene: Scene, outcome: Outcome, tell: Callable[[str], None]) -> None:
        self._play = play
        self._cast = play.cast
        self._scene = scene
        self._outcome = outcome
        self._tell = tell
        outcome.possible = frozenset(play.weights)
        self._damage = Damage(scene, play.cast.children, self._wait)
        self._watched_s = 0.0
        self._down: dict[Child, float] = {}
        """Until when a child that was killed, or ended, stays away."""
        self._left: list[Child] = []
        """Those that were told to stop, and need not run any more."""

    # ---- at work

    def begin(self) -> None:
        for child in self._cast.children:
            child.start()
        self._wait(
            lambda: all(self._play.versions_of(uri) > 2 for uri in self._cast.tables), "every table has versions"
        )

    def suffer(self, seed: int, limit: Limit) -> None:
        """Blow after blow, until the limit is reached; and beyond it while there is too little to judge."""
        began_s, reached_s = time.monotonic(), 0.0
        for blow in blows(seed, self._play.weights, self._play.pause_s):
            now_s = time.monotonic()
            if self._is_reached(limit, now_s - began_s):
                reached_s = reached_s or now_s
                if self._play.has_shown_enough(self._outcome):
                    return
                if now_s - reached_s > OVERTIME_LIMIT_S:
                    raise Overdue(f"too little was done to judge, {OVERTIME_LIMIT_S:g} s after the run was to end")
            self._strike(blow)

    def _is_reached(self, limit: Limit, elapsed_s: float) -> bool:
        if limit.kills is not None and sum(self._outcome.blows.values()) >= limit.kills:
            return True
        return limit.seconds is not None and elapsed_s >= limit.seconds

    def _strike(self, blow: Blow) -> None:
        until_s = time.monotonic() + blow.after_s
        self._wait(lambda: time.monotonic() >= until_s, "the moment of the next blow")
        self._outcome.blows[blow.fault] += 1
        self._tell(f"{sum(self._outcome.blows.values())}. {blow.fault.value}")
        struck_s = time.monotonic()
        tasks_before = self._tasks_done
        match blow.fault:
            case Fault.COMMITTER:
                self._kill_child(self._cast.committers, blow)
            case Fault.PRODUCER:
                self._kill_child(self._cast.producers, blow)
            case Fault.WORKER:
                self._kill_child(self._cast.workers, blow)
            case Fault.BROKER:
                self._damage.kill_server("broker", blow)
            case Fault.STORE:
                self._damage.kill_server("store", blow)
            case Fault.ZOMBIE:
                self._freeze(blow)
            case Fault.RIVAL:
                self._let_rival_work()
            case Fault.RESTART:
                self._restart(blow)
            case Fault.CLOCK:
                self._set_clock(blow)
            case Fault.CUT:
                self._damage.spoil_line(Weather.CUT, blow)
            case Fault.SLOW:
                self._damage.spoil_line(Weather.SLOW, blow)
            case Fault.TORN:
                self._damage.spoil_line(Weather.TORN, blow)
            case Fault.FULL:
                self._damage.fill_disk()
            case _:
                assert_never(blow.fault)
        if blow.waits_for_recovery:
            if blow.fault is Fault.WORKER:
                self._wait(lambda: self._tasks_done > tasks_before, "a worker has done a task again")
            else:
                self._wait_for_recovery()
            slowest = self._outcome.slowest_recovery_s
            slowest[blow.fault] = max(slowest.get(blow.fault, 0.0), time.monotonic() - struck_s)

    def _kill_child(self, children: list[Child], blow: Blow) -> Child:
        possible = [child for child in children if child.name not in self._cast.spared]
        running = [child for child in possible if child.is_running] or possible
        victim = running[int(blow.victim * len(running))]
        victim.kill()
        self._down[victim] = time.monotonic() + blow.down_s
        return victim

    def _set_clock(self, blow: Blow) -> None:
        """It begins again on a machine whose clock is off, and stays there until a later blow of this kind hits it."""
        victim = self._kill_child(self._cast.children, blow)
        victim.skew_s = int(CLOCKS[int(blow.after_s * 1000) % len(CLOCKS)] * self._play.clocks_apart_s)

    def _restart(self, blow: Blow) -> None:
        """As a deployment does it: it gives up its place by itself, with 0, and comes back."""

        def possible() -> list[Child]:
            return [
                child for child in self._cast.children if child.name not in self._cast.spared and self._begun(child)
            ]

        self._wait(lambda: bool(possible()), "somebody is at work who can be told to stop")
        victims = possible()
        victim = victims[int(blow.victim * len(victims))]
        self._left.append(victim)
        victim.tell_to_stop()
        self._wait(lambda: not victim.is_running, f"{victim.name} leaves", QUIET_LIMIT_S)
        self._left.remove(victim)
        if victim.code() != 0:
            self._note_end(victim)  # an earlier blow may have cost it its place, or its bus, meanwhile
        self._down[victim] = time.monotonic() + blow.down_s

    def _freeze(self, blow: Blow) -> None:
        """Long enough that another takes over what the frozen one held, so that it wakes up as a zombie."""
        self._wait(lambda: any(self._holds(child) for child in self._cast.committers), "a committer holds a partition")
        holders = [child for child in self._cast.committers if self._holds(child)]
        victim = holders[int(blow.victim * len(holders))]
        others = [child for child in self._cast.committers if child is not victim]
        before = sum(child.heard["partition_taken"] for child in others)
        began_s = time.monotonic()
        victim.freeze()
        if self._scene.frozen_lose_their_place:
            # What it held by its own word, the others may have had already: a member hears of its loss when it next polls.
            self._wait(
                lambda: (
                    sum(child.heard["partition_taken"] for child in others) > before
                    or sum(map(self._held_by, others)) >= self._scene.partitions
                ),
                f"another committer takes over from {victim.name}, which is frozen",
                TAKE_OVER_LIMIT_S,
            )
        else:
            self._wait(lambda: time.monotonic() - began_s >= FROZEN_S, "it is frozen for a while")
        victim.thaw()

    def _holds(self, child: Child) -> bool:
        return self._held_by(child) > 0

    @staticmethod
    def _held_by(child: Child) -> int:
        """How many partitions, by its own word."""
        said = child.this_run
        return (
            said["partition_taken"] - said["partition_lost"] - said["partition_taken_away"] if child.is_running else 0
        )

    def _let_rival_work(self) -> None:
        """A committer of another group decides the same proposals: a mistake that must do no harm."""
        before, rival = self._gave_way, self._cast.rival
        assert rival is not None, "a play with this fault has a rival"
        rival.start()
        # It begins with all that was ever decided, so the longer the run, the later it meets the others.
        until_s = time.monotonic() + RIVAL_LIMIT_S
        self._wait(
            lambda: not rival.is_running or self._gave_way > before or time.monotonic() > until_s,
            "the rival has its time",
        )
        if rival.is_running:
            rival.kill()
        else:
            self._note_end(rival)

    @property
    def _gave_way(self) -> int:
        """How often a committer ended by itself."""
        return sum(count for what, count in self._outcome.ended_by_themselves.items() if what.startswith("committer"))

    def _wait_for_recovery(self) -> None:
        """Until every table has a version that none of the processes that were hit has written before."""
        before = {uri: self._play.versions_of(uri) for uri in self._cast.tables}
        waiting = list(before)

        def is_over() -> bool:
            waiting[:] = [uri for uri in waiting if self._play.versions_of(uri) <= before[uri]]
            return not waiting

        try:
            self._wait(is_over, "every table is committed to again")
        except Overdue as error:
            raise Overdue(f"{error}; these are not: {', '.join(waiting)}") from None

    @property
    def _tasks_done(self) -> int:
        return sum(child.heard["task_done"] for child in self._cast.workers)

    # ---- meanwhile

    def _wait(self, condition: Callable[[], bool], what: str, within_s: float = RECOVERY_LIMIT_S) -> None:
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > within_s:
                raise Overdue(f"{what}: not within {within_s:g} s")
            self._tend()
            time.sleep(LOOK_S)

    def _tend(self) -> None:
        """Start again what was killed or ended by itself, as a deployment does, and let the play look."""
        now_s = time.monotonic()
        for child in [*self._cast.committers, *self._cast.workers]:
            child.listen()
        for child in self._cast.children:
            if child.is_running or child in self._left:
                continue
            if child not in self._down:
                self._note_end(child)
                self._down[child] = now_s + RESTART_PAUSE_S
            elif now_s >= self._down[child]:
                del self._down[child]
                child.start()
        if now_s - self._watched_s >= WATCH_EVERY_S:
            self._watched_s = now_s
            self._play.look()

    def _note_end(self, child: Child) -> None:
        """It may give up its place, or find no bus or store; it must say so in one line and end with 1."""
        last, kind = child.last_line(), child.name.partition("-")[0]
        if child.code() == 1 and last.startswith("Error: ") and "should not happen" not in last:
            self._outcome.ended_by_themselves[f"{kind}: {_reason(last)}"] += 1
        else:
            self._outcome.violations.append(f"{child.name} ended with {child.code()} and said {last[:500]!r}")

    # ---- the end

    def end_quietly(self) -> None:
        """No more blows: all that was proposed is answered and all that is left is done; each leaves when told to."""
        self._tell("quiet: waiting until everything is answered and done")
        cast = self._cast
        self._wait_until_at_work(cast.children)
        self._wait_for_recovery()
        self._send_away(cast.producers, "every producer has its receipts")
        self._wait(self._play.is_settled, "nothing is left to be done", QUIET_LIMIT_S)
        self._wait_until_at_work(cast.workers)
        self._send_away(cast.workers, "every worker leaves")
        self._wait_until_at_work(cast.committers)
        self._send_away(cast.committers, "every committer leaves")

    def _send_away(self, children: Sequence[Child], what: str) -> None:
        self._left += children
        for child in children:
            child.tell_to_stop()
        self._wait(lambda: not any(child.is_running for child in children), what, QUIET_LIMIT_S)
        for child in children:
            if child.code() != 0:
                self._outcome.violations.append(
                    f"{child.name} ended with {child.code()} when it was told to stop, and said {child.last_line()[:500]!r}"
                )

    def _wait_until_at_work(self, children: Sequence[Child]) -> None:
        """From then on each knows what to do when it is told to stop."""
        self._wait(
            lambda: all(self._begun(child) for child in children),
            "everybody is at work",
        )

    @staticmethod
    def _begun(child: Child) -> bool:
        return child.is_running and child.has_said(_READY[child.name.partition("-")[0]])

    def judge(self) -> None:
        self._play.look()
        self._play.judge(self._outcome)

    def last_words(self) -> Iterator[str]:
        for child in self._cast.children:
            yield f"{child.name} (code {child.code()}) said last: {child.last_line()[:500]}"
        for child in self._cast.children:
            if self._begun(child):
                yield f"{child.name} stands here:\n{child.threads()}"


def _reason(line: str) -> str:
    for words in (
        "is worked on by committer",
        "isn't held",
        "fenced",
        "taken over",
        "took",
        "isn't reachable",
        "answer",
    ):
        if words in line:
            return f"… {words} …"
    return line[7:80]
