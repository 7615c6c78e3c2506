"""The way of a newcomer who follows the README, timed: clone, `make demo`, and its first Python example."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.docs.page_blocks import ROOT, Block, blocks_of

COMMITTED = "in version 1"
"""What the example prints when its first change is committed."""
LIMIT_S = 1800


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    seconds: float


def first_example() -> Block:
    """The README's example of a commit through a committer, as it stands."""
    examples = [block for block in blocks_of(ROOT / "README.md") if block.kind == "python" and not block.words]
    return next(block for block in examples if COMMITTED.partition(" 1")[0] in block.body)


def follow(python: str) -> Iterator[Step]:
    """Each step when it is over. Raises `SystemExit` where one fails.

    The clone is of what is committed here; nothing of this process's environment leads into this tree.
    """
    with _scratch() as folder:
        clone = folder / "headgate"
        yield _timed("git clone, from this machine", ["git", "clone", "--quiet", str(ROOT), str(clone)], folder)
        yield _timed(
            "make demo: a new .venv, and what it installs", ["make", f"PYTHON={python}", ".venv/.running"], clone
        )
        yield _timed("make demo: the demo", ["make", "demo"], clone)
        (clone / "first.py").write_text(first_example().body)
        yield _timed("the README's first example: to its first commit", [".venv/bin/python", "-u", "first.py"], clone)


def _timed(what: str, command: list[str], folder: Path) -> Step:
    """To the end of the command, or to its first word of a commit."""
    before = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        said, told_s = [], None
        for line in process.stdout:
            said.append(line)
            if told_s is None and line.startswith(COMMITTED):
                told_s = time.perf_counter() - before
        code = process.wait(LIMIT_S)
        seconds = time.perf_counter() - before
    if code != 0:
        raise SystemExit(f"{' '.join(command)} ended with {code}:\n{''.join(said)[-2000:]}")
    return Step(what, seconds if told_s is None else told_s)


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="bench-newcomer-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment() -> dict[str, str]:
    """pip's settings and cache are the machine's own."""
    ours = ("HEADGATE_", "MAKE", "PYTHONPATH", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
