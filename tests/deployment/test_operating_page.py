"""The drills of docs/operating.md: the commands of each run as they stand, in a shell, and come to what the page says."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.page_blocks import DOCS, Block, blocks_of

PAGE = DOCS / "operating.md"
BLOCKS = blocks_of(PAGE)
[STAGE] = [block for block in BLOCKS if "stage" in block.words]
DRILLS = list(dict.fromkeys(block.heading for block in BLOCKS if "drill" in block.words))
TIME_LIMIT_S = 300.0
WANTED = {
    "The bus is lost",
    "A topic that was trimmed",
    "The bus is restored from a copy",
    "A table from its backup",
} | {
    "A damaged version file",
    "Two committers",
    "A full disk",
}


def test_there_is_a_drill_for_every_disaster() -> None:
    assert set(DRILLS) == WANTED


def test_every_figure_of_the_sizing_is_one_that_was_measured() -> None:
    measured = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    table = PAGE.read_text(encoding="utf-8").partition("| question | measured |\n")[2].partition("\n\n")[0]
    figures = [row.split("|")[2].strip() for row in table.splitlines()[1:]]
    assert len(figures) > 5
    assert [figure for figure in figures if f"| {figure} |" not in measured] == []


@pytest.mark.parametrize("drill", DRILLS)
def test_a_drill_goes_as_the_page_says(drill: str, tmp_path: Path) -> None:
    [*steps] = [STAGE, *(block for block in BLOCKS if block.heading == drill and "drill" in block.words)]
    said = run([step.body for step in steps], tmp_path)
    for step, output in zip(steps, said, strict=True):
        for line in expected_after(step):
            pattern = r"\s+".join(map(re.escape, line.split())).replace("…", ".*?")
            assert re.search(pattern, output), f"{line!r} is not in:\n{output}"


def expected_after(step: Block) -> list[str]:
    """The lines of the block `text` that follows the step, if one does."""
    after = BLOCKS[BLOCKS.index(step) + 1 :]
    return after[0].body.splitlines() if after and after[0].kind == "text" else []


def run(steps: list[str], folder: Path) -> list[str]:
    """What each step printed, with what the processes that it left behind said meanwhile."""
    marks = [f"echo '=== end of step {number}'" for number, _ in enumerate(steps)]
    begins = f'set -e\nunset ${{!HEADGATE_@}}\nexport PATH="{Path(sys.executable).parent}:$PATH"\n'
    program = begins + "".join(f"{step}\n{mark}\n" for step, mark in zip(steps, marks, strict=True))
    shell = subprocess.Popen(
        ["bash", "-c", program],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        printed = _until_the_last_mark(shell, len(steps))
    finally:
        # With the committers that the page leaves running.
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate(timeout=TIME_LIMIT_S)
    return printed


def _until_the_last_mark(shell: "subprocess.Popen[str]", count: int) -> list[str]:
    assert shell.stdout is not None
    printed = [""]
    for line in shell.stdout:
        if line.startswith("=== end of step "):
            if len(printed) == count:
                return printed
            printed.append("")
        else:
            printed[-1] += line
    raise AssertionError(f"the drill ended early, in:\n{printed[-1]}")
