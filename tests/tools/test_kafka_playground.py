"""The broker to play with starts, tells its address, answers, and ends when told to."""

import signal
import subprocess
import sys
from pathlib import Path

from headgate_bus.interface import Topic
from headgate_bus.kafka.bus import KafkaBus
from headgate_schemas.ambient import SystemAmbient

PROGRAM = Path(__file__).parents[1] / "tooling/kafka_playground.py"
END_LIMIT_S = 60


def test_the_playground_gives_an_address_that_works_and_ends_by_ctrl_c() -> None:
    command = (sys.executable, PROGRAM)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            bus = KafkaBus(process.stdout.readline().strip(), SystemAmbient())
            bus.prepare()
            partitions = bus.partitions(Topic.PROPOSALS)
            bus.close()
        finally:
            process.send_signal(signal.SIGINT)
            ended = process.wait(END_LIMIT_S)
    assert (partitions, ended) == (1, 0)
