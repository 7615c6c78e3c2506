"""The scripts in `examples/` run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

PRINTED = {
    "create_append_read.py": (
        "committed as version 1\n1 file with 3 rows matches: region=us/part-0.parquet\namount in the US: 8.5\n"
    ),
    "nightly_overwrite.py": (
        "version 1: 35.0\n"
        "version 2: 41.0\n"
        "came: ['day=2024-03-01/run-2.parquet'] went: ['day=2024-03-01/run-1.parquet']\n"
    ),
}

WITH_A_BROKER = {"kafka_batch_job.py", "kafka_fill_topic.py"}
"""Run in tests/producer/test_kafka_batch_job.py."""

WITH_SPARK = {"batch_job.py", "streaming_sink.py"}
"""Run in tests/spark/test_spark_examples.py."""


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(PRINTED) | WITH_A_BROKER | WITH_SPARK


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_promises(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == PRINTED[name]
