"""A process that is frozen stands still at once, with all of its threads."""

import subprocess
import sys
from pathlib import Path

from support.processes.freezing import freeze, thaw
from support.processes.waiting import wait_until

BUSY = """\
import threading
def work():
    while True:
        sum(range(1000))
for _ in range(7):
    threading.Thread(target=work).start()
print("busy", flush=True)
work()
"""


def states(process: "subprocess.Popen[bytes]") -> set[str]:
    """What its threads do, in the letters of Linux: T is stopped."""
    tasks = Path(f"/proc/{process.pid}/task").glob("*/stat")
    return {task.read_text().rpartition(") ")[2][0] for task in tasks}


def test_no_thread_goes_on_when_a_process_is_frozen_until_it_is_thawed() -> None:
    """Break: `freeze` doesn't wait."""
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"busy\n"
            for _ in range(20):
                freeze(process)
                assert states(process) == {"T"}
                thaw(process)
                wait_until(lambda: states(process) != {"T"}, "it goes on")
        finally:
            process.kill()


def test_freezing_what_has_ended_is_over_at_once() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        freeze(process)
    assert process.returncode == 0
