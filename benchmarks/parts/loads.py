"""Proposers in several processes, which begin at the same time."""

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from parts.proposers import Load, Tally


def shared_out(load: Load, processes: int) -> list[Load]:
    """The load's proposers, spread evenly over so many processes, or over as many as there are proposers."""
    count = min(processes, load.proposers)
    shares = [load.proposers // count + (number < load.proposers % count) for number in range(count)]
    return [
        replace(load, first=load.first + sum(shares[:number]), proposers=share) for number, share in enumerate(shares)
    ]


def together(loads: Sequence[Load]) -> Tally:
    """What came of all of them."""
    program = Path(__file__).with_name("proposers.py")
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", str(program), load.to_json()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for load in loads
    ]
    try:
        for process in processes:
            _expect(process, "ready")
        start_s = time.monotonic() + 0.2
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{start_s}\n")
            process.stdin.flush()
        tallies = [Tally.from_json(_expect(process)) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return Tally(
        committed=sum(tally.committed for tally in tallies),
        acknowledged=sum(tally.acknowledged for tally in tallies),
        failed=sum(tally.failed for tally in tallies),
        failed_in_all=sum(tally.failed_in_all for tally in tallies),
        unanswered=sum(tally.unanswered for tally in tallies),
        latencies_ms=[latency for tally in tallies for latency in tally.latencies_ms],
        seconds=max(tally.seconds for tally in tallies),
        last_failure=next((tally.last_failure for tally in tallies if tally.last_failure), ""),
    )


def _expect(process: "subprocess.Popen[str]", wanted: str | None = None) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line or (wanted is not None and line != wanted):
        raise SystemExit(f"a process of proposers ended early, after {line!r}; what it said is above")
    return line
