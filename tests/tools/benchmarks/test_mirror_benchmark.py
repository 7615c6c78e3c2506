"""The benchmark of the mirror runs and checks what it measures; what it measures here means nothing."""

import re
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def test_the_benchmark_prints_how_far_the_mirror_is_behind_and_what_it_costs(tmp_path: Path) -> None:
    small = ["--proposers=3", "--processes=1", "--seconds=3", "--warm-up=1", "--runs=1", f"--folder={tmp_path}"]
    command = [sys.executable, str(BENCHMARKS / "mirror.py"), *small]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(r"without mirror +[\d,]+ ", done.stdout)
    assert re.search(r"mirror: [\d.,]+ versions a second; behind by [\d.,]+ s \(median\)", done.stdout)
    assert re.search(r"[\d.]+ of the proposals a second, [\d.]+ of the committer's processor time", done.stdout)
