"""A topic that was deleted and made again on a real broker: its table is not fed from it, says why, and goes on after a rebind."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping

import headgate
from support.kafka.surgery import make_anew
from support.processes.waiting import wait_until
from support.torture.stage.children import clean_environment
from support.torture.stage.stage import Stage, a_file, stopped

PATIENCE_S = 120.0


def run(command: str, environment: Mapping[str, str]) -> str:
    """What the operator is told to do, done; what it prints."""
    words = [sys.executable, "-m", *command.split(), "--format", "json"]
    ended = subprocess.run(
        words,
        check=False,
        env=clean_environment() | dict(environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_its_table_waits_for_the_command_that_the_committer_names(kafka_stage: Stage) -> None:
    scene = kafka_stage.scene
    first = kafka_stage.committer("first")
    assert kafka_stage.producer().append([a_file("old")]).wait(PATIENCE_S).version == 1  # type: ignore[union-attr]
    stopped(first)
    make_anew(scene.bus)

    second = kafka_stage.committer("second")
    ticket = kafka_stage.producer().append([a_file("new")])
    wait_until(lambda: second.has_said("table_waits"), "the committer says that the table waits", PATIENCE_S)
    [said] = {line for line in second.said().splitlines() if '"table_waits"' in line and "TableHeld" in line}
    command = re.search(r"`(headgate table rebind \S+ --bus )…`", json.loads(said)["reason"])
    assert command is not None, said
    assert kafka_stage.opened().version == 1

    run(command[1] + scene.bus, scene.environment)
    assert isinstance(ticket.wait(PATIENCE_S), headgate.Committed)
    stopped(second)
    assert kafka_stage.opened().snapshot().paths() == ["part=a/new.parquet", "part=a/old.parquet"]
