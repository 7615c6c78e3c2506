"""Processes of the system under test: started, killed, frozen and ended by their own ids; what they say is in a file each."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.processes.freezing import freeze, thaw
from support.processes.waiting import Overdue, wait_until

STOP_LIMIT_S = 60.0
LAST_BYTES = 8192
STACKS_LIMIT_S = 5.0
"""A frozen process tells nothing."""
SKEW = "TORTURE_SKEW_S"
KEPT_PROPOSALS = 2**53
"""All: the evidence begins with what was proposed first."""
TESTS = Path(__file__).resolve().parents[3]


class Child:
    """One program that may run many times. Its ends by itself are noted, since the others are ours."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None):
        self.name = name
        self.log = folder / f"{name}.log"
        self.codes: list[int] = []
        """How its earlier runs ended; negative where a signal did it."""
        self.skew_s = 0
        """How far its clock is off, from its next start on."""
        self._command = list(command)
        self._environment = clean_environment() | dict(environment or {})
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.heard: Counter[str] = Counter()
        """Events that it has logged in all its runs, by name, as far as `listen` has read."""
        self.this_run: Counter[str] = Counter()
        self._began_at = 0
        """How long the log was when this run began."""
        self._read_from = 0
        self._rest = b""

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._started().pid

    def start(self) -> None:
        assert not self.is_running, f"{self.name} runs already"
        self._note_end()
        self.listen()
        self.this_run.clear()
        with self.log.open("ab") as output:
            self._began_at = output.tell()
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                env=self._environment | {SKEW: str(self.skew_s)},
            )

    def kill(self) -> None:
        """kill -9; a frozen process dies as well."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_LIMIT_S)

    def freeze(self) -> None:
        freeze(self._started())

    def thaw(self) -> None:
        thaw(self._started())

    def tell_to_stop(self) -> None:
        self._started().terminate()

    def ended(self, within_s: float = STOP_LIMIT_S) -> int:
        """Its exit code. Raises `TimeoutExpired`."""
        return self._started().wait(within_s)

    def code(self) -> int | None:
        """The exit code of the last run; None while it runs, or before it ran."""
        return None if self._process is None else self._process.poll()

    def threads(self) -> str:
        """Where each thread of a program that runs is just now, the innermost call first. It has to have said it is ready."""
        before = self.said_bytes()
        os.kill(self.pid, signal.SIGUSR1)
        # The last of them is the main thread, and its outermost call is the module itself.
        with contextlib.suppress(Overdue):
            wait_until(lambda: " in <module>" in self.said(before), f"{self.name} tells where it is", STACKS_LIMIT_S)
        return self.said(before)

    def said(self, since: int = 0) -> str:
        """All that its log holds, or what came after so many bytes."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(since)
            return file.read().decode(errors="replace")

    def said_bytes(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def last_line(self) -> str:
        """The error that it ended with, if it told of one in this run; a thread may say something more behind that."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(self._began_at, self.log.stat().st_size - LAST_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
        return next((line for line in reversed(lines) if line.startswith("Error: ")), lines[-1] if lines else "")

    def listen(self) -> list[dict[str, Any]]:
        """What it has logged since the last call, as far as whole lines of JSON go."""
        if not self.log.exists():
            return []
        with self.log.open("rb") as file:
            file.seek(self._read_from)
            data = file.read()
        self._read_from += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        events = [event for line in lines for event in logged_events(line.decode(errors="replace"))]
        names = [event["event"] for event in events]
        self.heard.update(names)
        self.this_run.update(names)
        return events

    def has_said(self, event: str) -> bool:
        """In this run."""
        self.listen()
        return self.this_run[event] > 0

    def end(self) -> None:
        """Whatever state it is in, nothing of it is left."""
        self.kill()
        self._note_end()
        self._process = None

    def _note_end(self) -> None:
        if self._process is not None and self._process.returncode is not None:
            self.codes.append(self._process.returncode)

    def _started(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, f"{self.name} was never started"
        return self._process


def logged_events(line: str) -> Iterator[dict[str, Any]]:
    """What a line of a log tells; two where a process was killed before it had ended the first, nothing of a torn one."""
    decoder, at = json.JSONDecoder(), 0
    while line.startswith("{", at):
        try:
            event, at = decoder.raw_decode(line, at)
        except ValueError:
            return
        yield event


@contextlib.contextmanager
def running_child(
    name: str,
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    skew_s: int = 0,
) -> Iterator[Child]:
    child = Child(name, command, folder, environment)
    child.skew_s = skew_s
    try:
        child.start()
        yield child
    finally:
        child.end()


def clean_environment() -> dict[str, str]:
    """Ours, without any setting of Headgate, and with the packages that tests share."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    return kept | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, [kept.get("PYTHONPATH")])])}


def committer_command(
    bus: str, root: str, *, name: str = "committer", group: str | None = None, blind: bool = False
) -> list[str]:
    """`blind`: it doesn't look for other groups, as older releases don't."""
    command = [*_command("committer", bus, root, name), "--limit", f"kept-proposals={KEPT_PROPOSALS}"]
    if blind:
        command[2] = "support.torture.stage.blind"
    return command if group is None else [*command, "--group", group]


def worker_command(bus: str, root: str, name: str, limits: Mapping[str, int]) -> list[str]:
    """One of all roles."""
    told = [argument for key, value in limits.items() for argument in ("--limit", f"{key}={value}")]
    return [*_command("worker", bus, root, name), *told]


def page_command(bus: str, root: str) -> list[str]:
    """On a free port. It has no identity, since it belongs to no group."""
    where = ["--bus", bus, "--root", root, "--listen", "127.0.0.1:0"]
    return [sys.executable, "-m", "headgate", "page", *where, "--log", "json"]


def _command(kind: str, bus: str, root: str, name: str) -> list[str]:
    where = ["--bus", bus, "--root", root]
    return [sys.executable, "-m", "support.torture.stage.skewed", kind, *where, "--id", name, "--log", "json"]
