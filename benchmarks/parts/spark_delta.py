"""Whether delta-spark runs on the Spark that is installed: it is made for one release of Spark each, and may not.

`python benchmarks/parts/spark_delta.py FOLDER` is the trial, in a process and a JVM of its own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

RELEASE = "4.4.0"
FOR_SPARK = "4.2"
"""The newest release of Spark that this one is made for."""
PACKAGE = f"io.delta:delta-spark_{FOR_SPARK}_2.13:{RELEASE}"
SETTINGS = {
    "spark.jars.packages": PACKAGE,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
TRIAL_LIMIT_S = 600
SHOWN_CHARS = 160
_ROWS = 100


def trial(folder: Path) -> str | None:
    """None if it writes, appends and reads a table here; else why not, in a line."""
    from pyspark.sql import SparkSession

    from parts.spark_session import quiet_settings

    builder = SparkSession.builder.master("local[2]")
    for key, value in (quiet_settings(folder) | SETTINGS).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    table = str(folder / "delta")
    for _ in range(2):
        session.range(_ROWS).write.format("delta").mode("append").save(table)
    found = session.read.format("delta").load(table).count()
    session.stop()
    return None if found == 2 * _ROWS else f"it read {found} of {2 * _ROWS} rows"


def why_not(folder: Path) -> str | None:
    """As `trial`, from a process of its own: its jars stay out of ours."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, str(folder)],
        capture_output=True,
        text=True,
        timeout=TRIAL_LIMIT_S,
        check=False,
        env=dict(os.environ),
    )
    if done.returncode == 0:
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else None
    said = done.stdout + done.stderr
    # The JVM's own error, which tells, stands after Python's, which only says that there was one.
    found = re.search(r"^: ([\w.]+: .+)$", said, re.MULTILINE)
    return (found[1] if found else (said.strip().splitlines() or ["it ended without a word"])[-1])[:SHOWN_CHARS]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from parts.spark_session import prepare_environment

    prepare_environment()
    reason = trial(Path(sys.argv[1]))
    if reason is not None:
        print(reason)
