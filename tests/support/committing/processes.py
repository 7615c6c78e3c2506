"""A committer as a process of its own, to be killed."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from support.processes.cli_processes import COMMAND, END_LIMIT_S


@contextmanager
def a_committer_process(bus: str, storage: Mapping[str, str]) -> Iterator[None]:
    """It works until the end of the block, and is killed there in the middle of whatever it does."""
    options = [word for key, value in storage.items() for word in ("--store", f"{key}={value}")]
    process = subprocess.Popen(
        [*COMMAND, "committer", "--bus", bus, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait(timeout=END_LIMIT_S)
