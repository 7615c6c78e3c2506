"""The page about Milvus manifests: its examples run, and print what the page says they print."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/milvus.md"
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_print_what_the_page_says(tmp_path: Path) -> None:
    blocks = [(match[1], match[2]) for match in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    program = "".join(code for kind, code in blocks if kind == "python")
    done = subprocess.run(
        [sys.executable, "-"],
        input=f"import sys\nsys.path[:] = {sys.path!r}\n" + program,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(text for kind, text in blocks if kind == "text")
