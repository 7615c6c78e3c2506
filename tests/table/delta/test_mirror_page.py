"""docs/mirror.md says what happens: its Python runs, and prints what the page shows."""

import subprocess
import sys
from pathlib import Path

from support.docs.page_blocks import DOCS, blocks_of

PAGE = DOCS / "mirror.md"
ONLY_SHOWN = 2
"""Statements of engines that don't run in this process."""


def test_the_examples_print_what_the_page_says(tmp_path: Path) -> None:
    blocks = blocks_of(PAGE)
    program = "".join(block.body for block in blocks if block.kind == "python")
    printed = [block.body for block in blocks if block.kind == "text"]
    done = subprocess.run(
        [sys.executable, "-"],
        input=f"import sys\nsys.path[:] = {sys.path!r}\n" + program,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(printed[:-ONLY_SHOWN])
