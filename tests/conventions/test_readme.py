"""What the README shows, runs: its Python as it stands, and every command of its shell is one that there is."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes.cli_processes import a_process, ended, heard
from support.processes.command_line import Headgate

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


PRINTED = ("'text': ['a', 'b']", "date=2024-01-01/a.parquet", "date=2024-01-01/a.parquet")
"""What each program prints, among other things."""


@pytest.mark.parametrize(("program", "printed"), list(zip(blocks("python"), PRINTED, strict=True)))
def test_the_python_of_the_readme_runs(program: str, printed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout


def test_the_first_example_writes_rows_and_reads_them_back_in_five_lines() -> None:
    first = blocks("python")[0]
    assert len([line for line in first.splitlines() if line]) <= 5
    assert "headgate.write(" in first
    assert "headgate.read(" in first


GOES_ON = ("committer", "worker")
COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("headgate ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_readme_is_understood(
    line: str, tmp_path: Path, headgate: Headgate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong usage exits with 2; here the tables don't exist, which is 1, and `doctor` may find something."""
    words = [word.replace("s3://lake", str(tmp_path)) for word in shlex.split(line)]
    if words[1] in GOES_ON:
        with a_process(*words[1:], folder=tmp_path) as process:
            heard(process, f"{words[1]}_started")
            process.terminate()
            ended(process)
        assert process.returncode == 0
        return
    monkeypatch.chdir(tmp_path)
    ran = headgate(*words[1:])
    assert ran.code in (0, 1, 3), ran.err  # 3: no committer runs here


def test_every_target_of_the_readme_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+%?):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in re.findall(r"`?make ([a-z][a-z-]*)", README):
        assert target in targets or re.sub(r"-[a-z]+$", "-%", target) in targets, target


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
