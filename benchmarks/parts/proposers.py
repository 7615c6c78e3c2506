"""A process full of proposers: each commits, waits for the answer, and commits again, until the time is over.

Started by commit.py with the load as JSON. It opens what it needs, says `ready`, reads the time to start from its standard
input, and prints what came of it.
"""

import json
import logging
import math
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from parts.commit_engines import (
    ANSWER_LIMIT_S,
    Commit,
    Place,
    committers,
    failures,
    first_commits,
    headgate_files,
    must_be_committed,
    producer,
)


@dataclass(frozen=True)
class Load:
    """What one process does. `stream` proposals are sent as fast as they are taken; else `proposers` take turns for a time."""

    engine: str
    place: Place
    bus: str
    first: int
    proposers: int
    files: int
    warm_up_s: float
    seconds: float
    grace_s: float
    stream: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Load":
        body = json.loads(text)
        return cls(**(body | {"place": Place(**body["place"])}))


@dataclass
class Tally:
    """What came of it in the time that counts."""

    committed: int = 0
    acknowledged: int = 0
    """The same before and after the time that counts, too: all that must be in the table."""
    failed: int = 0
    failed_in_all: int = 0
    """The same before and after the time that counts, too."""
    unanswered: int = 0
    """Begun in time, and still without an answer long after it."""
    latencies_ms: list[float] = field(default_factory=list)
    seconds: float = 0.0
    last_failure: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Tally":
        return cls(**json.loads(text))


def percentile(values: list[float], share: float) -> float:
    """The smallest of the values that at least this share of them doesn't exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


class _Turns:
    """The proposers of this process, a thread each."""

    def __init__(self, load: Load, start_s: float) -> None:
        self._load = load
        self._failures = failures(load.engine)
        self._counts_from_s = start_s + load.warm_up_s
        self._ends_s = self._counts_from_s + load.seconds
        self._lock = threading.Lock()
        self._busy: set[int] = set()
        self._is_over = False
        self.tally = Tally(seconds=load.seconds)

    def run(self, commits: list[Commit]) -> Tally:
        threads = [threading.Thread(target=self._turns, args=item, daemon=True) for item in enumerate(commits)]
        for thread in threads:
            thread.start()
        limit_s = self._ends_s + self._load.grace_s
        for thread in threads:
            thread.join(max(0.0, limit_s - time.monotonic()))
        with self._lock:
            self.tally.unanswered = len(self._busy)
            self._is_over = True
            return self.tally

    def _turns(self, place: int, commit: Commit) -> None:
        turn = 0
        while (begun_s := time.monotonic()) < self._ends_s:
            counts = begun_s >= self._counts_from_s
            with self._lock:
                self._busy.add(place)
            failure = ""
            try:
                commit(turn)
            except self._failures as error:
                failure = f"{type(error).__name__}: {error}"
            turn += 1
            ended_s = time.monotonic()
            with self._lock:
                if self._is_over:
                    return
                self._busy.discard(place)
                self._count(begun_s, ended_s, counts, failure)

    def _count(self, begun_s: float, ended_s: float, counts: bool, failure: str) -> None:
        """Throughput is what ended in the time that counts; latencies are of what began in it."""
        if failure:
            self.tally.last_failure = failure[:200]
            self.tally.failed += counts
            self.tally.failed_in_all += 1
            return
        self.tally.acknowledged += 1
        self.tally.committed += self._counts_from_s <= ended_s < self._ends_s
        if counts:
            self.tally.latencies_ms.append((ended_s - begun_s) * 1000)


def _stream(load: Load) -> Tally:
    """As many proposals as the producer takes at a time, until all are answered."""
    tally = Tally()
    with producer(load.place, load.bus) as shared:
        shared.append(headgate_files(load.first, -1, load.files)).wait(ANSWER_LIMIT_S)
        proposals = [headgate_files(load.first, turn, load.files) for turn in range(load.stream)]
        _wait_for_start()
        begun_s = time.monotonic()
        tickets = [(time.monotonic(), shared.append(files)) for files in proposals]
        for sent_s, ticket in tickets:
            must_be_committed(ticket.wait(ANSWER_LIMIT_S))
            tally.latencies_ms.append((time.monotonic() - sent_s) * 1000)
        tally.seconds = time.monotonic() - begun_s
        tally.committed = load.stream
        tally.acknowledged = load.stream + 1
    return tally


def _wait_for_start() -> float:
    """The time at which everybody starts, told when everybody is ready."""
    print("ready", flush=True)
    start_s = float(sys.stdin.readline())
    time.sleep(max(0.0, start_s - time.monotonic()))
    return start_s


def main() -> None:
    # Libraries warn of every retry; what counts is what came of it.
    logging.disable(logging.WARNING)
    load = Load.from_json(sys.argv[1])
    if load.stream:
        tally = _stream(load)
    else:
        commits = committers(load.engine, load.place, load.bus, load.first, load.proposers, load.files)
        tally = _Turns(load, _wait_for_start()).run(commits)
        tally.acknowledged += first_commits(load.engine)
    print(tally.to_json(), flush=True)
    # Proposers that still wait would keep the process; what they wait for no longer counts.
    os._exit(0)


if __name__ == "__main__":
    main()
