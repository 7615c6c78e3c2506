"""Completion in shells: the scripts, and what they are answered."""

import subprocess
import sys
from pathlib import Path

import pytest

SHELLS = ("bash", "zsh", "fish")
ASKED = {
    "bash": lambda words: {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))},
    "zsh": lambda words: {"_TYPER_COMPLETE_ARGS": words},
    "fish": lambda words: {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}
"""How each of them hands over what was typed so far."""


def ran(folder: Path, *command: str, **environment: str) -> str:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_is_given_a_script_that_asks_us(shell: str, tmp_path: Path) -> None:
    script = ran(tmp_path, "headgate", _HEADGATE_COMPLETE=f"source_{shell}")
    assert f"_HEADGATE_COMPLETE=complete_{shell}" in script


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("headgate do", {"doctor"}),
        ("headgate table desc", {"describe"}),
        ("headgate table create --part", {"--partition-by"}),
        ("headgate dead-letters ", {"list", "show", "replay"}),
    ],
)
def test_a_shell_is_offered_commands_and_options(shell: str, typed: str, offered: set[str], tmp_path: Path) -> None:
    answer = ran(tmp_path, "headgate", _HEADGATE_COMPLETE=f"complete_{shell}", **ASKED[shell](typed))
    assert [word for word in offered if word not in answer] == []
    assert "truncate-history" not in answer


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    """As a user's shell does: the script is read, and its function is called for what was typed."""
    program = """
eval "$(_HEADGATE_COMPLETE=source_bash headgate)"
COMP_WORDS=(headgate table tr) COMP_CWORD=2
"$(complete -p headgate | sed 's/.*-F \\([^ ]*\\).*/\\1/')" headgate
echo "${COMPREPLY[@]}"
"""
    assert ran(tmp_path, "bash", "-c", program).split() == ["truncate-history"]


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_installed_for_a_user_by_one_command(shell: str, tmp_path: Path) -> None:
    told = ran(
        tmp_path,
        "headgate",
        "--install-completion",
        shell,
        _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1",
    )
    place = Path(told.split("installed in ")[1].splitlines()[0])
    assert place.is_relative_to(tmp_path)
    assert "_HEADGATE_COMPLETE" in place.read_text()
