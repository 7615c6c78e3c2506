"""The page docs/rows.md: its examples run as one program, and print what the page says they print."""

import subprocess
import sys
from pathlib import Path

from support.docs.page_blocks import DOCS, blocks_of

BLOCKS = blocks_of(DOCS / "rows.md")


def test_the_examples_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    program = "".join(block.body for block in BLOCKS if block.kind == "python")
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(block.body for block in BLOCKS if block.kind == "text")
