"""Commands of `headgate` that go on, as processes that are listened to."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "headgate"]
END_LIMIT_S = 60.0


@contextmanager
def a_process(
    *arguments: str, program: list[str] | None = None, folder: Path | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """`headgate` with these arguments, killed at the end of the block if it is still there."""
    process = subprocess.Popen(
        [*(program or COMMAND), *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=END_LIMIT_S)


def heard(process: "subprocess.Popen[str]", event: str, **fields: object) -> dict[str, Any]:
    """Wait until the process tells of it, with these fields."""
    assert process.stderr is not None
    others: list[str] = []
    for line in process.stderr:
        others.append(line)
        told: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
        if told.get("event") == event and fields.items() <= told.items():
            return told
    raise AssertionError(f"the process ended without {event}: {''.join(others)[-2000:]}")


def ended(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    """Wait for its end; what it told until then and was not heard yet."""
    _, errors = process.communicate(timeout=END_LIMIT_S)
    return [json.loads(line) for line in errors.splitlines() if line.startswith("{")]
