"""Racing many threads or processes against one store."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from support.processes.isolated import module_path

T = TypeVar("T")

LIMIT_S = 120


def race(count: int, run: Callable[[int], T]) -> list[T]:
    """What `run(0)` to `run(count - 1)` answer, started together on threads of their own."""
    barrier = threading.Barrier(count)

    def runner(number: int) -> T:
        barrier.wait(LIMIT_S)
        return run(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(runner, range(count), timeout=LIMIT_S))


def race_processes(count: int, program: str, arguments: Sequence[str]) -> list[str]:
    """What each of `count` Python processes prints. The program is given its number first, then the arguments.

    It must print a line when it is ready and wait for one on its input, so that all begin together.
    """
    environment = os.environ | {"PYTHONPATH": module_path()}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(number), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(count)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = []
        for process in processes:
            out, complaints = process.communicate(timeout=LIMIT_S)
            assert process.returncode == 0, complaints
            answers.append(out.strip())
        return answers
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
