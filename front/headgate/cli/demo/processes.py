"""The processes of the demo: commands of `headgate` on its bus. The demo kills, stops and observes them by their logs."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headgate_schemas.errors import HeadgateError

STOP_WITHIN_S = 30.0
"""Then it is killed; what it settles or leaves takes 20 s at most."""


class DemoProcess:
    """One command, in one run after the other. The log of each run lies beside the bus."""

    def __init__(self, folder: Path, bus: str, command: str, name: str, *options: str) -> None:
        self._folder = folder
        self._name = name
        self._command = [sys.executable, "-m", "headgate", command, "--bus", bus, "--root", str(folder), *options]
        self._runs = 0
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._runs += 1
        self._log = self._folder / f"{self._name}-{self._runs}.log"
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [*self._command, "--id", self._log.stem, "--log", "json", "--listen", "none"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def kill(self) -> None:
        """Kill the process as a power cut would: it finishes nothing."""
        assert self._process is not None, "it has to be started first"
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Stop the process; it first finishes its work."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def check(self) -> None:
        """Raises with the end of the log if the process has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise HeadgateError(f"the demo's {self._name} ended by itself:\n{self.last_words()}")

    def last_words(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace").strip()[-2000:]

    def told(self, event: str) -> list[dict[str, Any]]:
        """The occurrences of the event in this run's log so far."""
        whole, _, _ = self._log.read_text(encoding="utf-8", errors="replace").rpartition("\n")
        lines = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]


@contextmanager
def running(process: DemoProcess) -> Iterator[DemoProcess]:
    """The process, started, and stopped at the end of the block."""
    process.start()
    try:
        yield process
    finally:
        process.stop()
