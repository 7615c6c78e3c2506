"""The benchmark of queries runs, and both ways give the same answers; what it measures here means nothing."""

import re
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def test_the_benchmark_prints_a_row_for_each_question() -> None:
    command = [sys.executable, str(BENCHMARKS / "query.py"), "--rows=2000", "--partitions=1,3", "--repeat=1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(re.findall(r"^ +[13]  [a-z ]+ +\d+\.\d+ +\d+\.\d+ +\d+\.\d+$", done.stdout, re.MULTILINE)) == 14
