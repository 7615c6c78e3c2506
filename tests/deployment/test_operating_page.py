"""The drills of docs/operating.md: the commands of each run as they stand, in a shell, and come to what the page says."""

import functools
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headgate_committer.backend.own_term import OwnTerm
from headgate_committer.errors import Overtaken
from headgate_table.coordination.commit_info import Term
from support.docs.page_blocks import DOCS, Block, blocks_of

PAGE = DOCS / "operating.md"
BLOCKS = blocks_of(PAGE)
[STAGE] = [block for block in BLOCKS if "stage" in block.words]
DRILLS = list(dict.fromkeys(block.heading for block in BLOCKS if "drill" in block.words))
TIME_LIMIT_S = 900.0
"""For a whole drill; only a failing test takes that long."""
MARK = "=== end of a step"
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
    with a_shell([patient(step.body) for step in steps], tmp_path) as shell:
        for step in steps:
            comes_to(shell, expected_after(step))


def test_a_committer_that_gives_way_says_the_words_of_the_page() -> None:
    """Which of two it is, and when, no drill can tell before."""
    [words] = re.findall(r"`([^`]* is worked on by [^`]*)`", PAGE.read_text(encoding="utf-8"))
    with pytest.raises(Overtaken, match=pattern_of(words)):
        OwnTerm("lake/events", "committer").check(Term(2, "others"), chosen=Term(1, "committer"))


def pattern_of(words: str) -> str:
    """What is left out on the page may be anything, and so may be white space."""
    return r"\s+".join(map(re.escape, words.split())).replace("…", ".*?")


def expected_after(step: Block) -> list[str]:
    """The lines of the block `text` that follows the step, if one does."""
    after = BLOCKS[BLOCKS.index(step) + 1 :]
    return after[0].body.splitlines() if after and after[0].kind == "text" else []


def patient(commands: str) -> str:
    """Where a receipt is to come, it may take longer than the half minute that a command waits unless it is told otherwise."""
    return re.sub(r"^headgate propose (?!.*--wait).*", rf"\g<0> --wait {TIME_LIMIT_S:g}s", commands, flags=re.MULTILINE)


@contextmanager
def a_shell(steps: list[str], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A shell that marks the end of each step, and goes on when it is told to. It says what the processes say that it started."""
    begins = f'set -e\nunset ${{!HEADGATE_@}}\nexport PATH="{Path(sys.executable).parent}:$PATH"\n'
    program = begins + "".join(f"{step}\necho '{MARK}'\nread -r\n" for step in steps)
    shell = subprocess.Popen(
        ["bash", "-c", program],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    # With the committers that the page leaves running.
    end = functools.partial(os.killpg, shell.pid, signal.SIGKILL)
    in_time = threading.Timer(TIME_LIMIT_S, end)
    in_time.start()
    try:
        yield shell
    finally:
        in_time.cancel()
        end()
        shell.communicate(timeout=TIME_LIMIT_S)


def comes_to(shell: "subprocess.Popen[str]", expected: list[str]) -> None:
    """Wait for the end of a step and for what the page says of it; a process that it left behind may say that later."""
    assert shell.stdin is not None
    assert shell.stdout is not None
    printed, is_over = "", False
    for line in shell.stdout:
        if line == f"{MARK}\n":
            is_over = True
        else:
            printed += line
        if is_over and not missing(expected, printed):
            shell.stdin.write("\n")
            shell.stdin.flush()
            return
    raise AssertionError(f"{missing(expected, printed) or 'the end of the step'} did not come after:\n{printed}")


def missing(expected: list[str], printed: str) -> list[str]:
    return [line for line in expected if not re.search(pattern_of(line), printed)]
