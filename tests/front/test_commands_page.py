"""Every command that the documentation shows is one that there is, with the options that it has."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from headgate.cli.main import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
LINES = sorted(
    {
        line
        for page in DOCS.rglob("*.md")
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for line in re.sub(r"\\\n\s*", " ", block).splitlines()
        if line.startswith("headgate ")
    }
)


def resolved(words: list[str]) -> list[Any]:
    """The command that the words name, behind the groups that it is in."""
    found: list[Any] = [typer.main.get_command(app)]
    for word in words:
        commands = getattr(found[-1], "commands", None)
        if commands is None:
            break
        assert word in commands, f"there is no command {word!r}"
        found.append(commands[word])
    return found


@pytest.mark.parametrize("line", LINES)
def test_a_documented_command_is_understood(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    *above, command = resolved(words)
    command.make_context(command.name, words[len(above) :])


def test_there_are_documented_commands() -> None:
    assert any(line.startswith("headgate propose ") for line in LINES)
