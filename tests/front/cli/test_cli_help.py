"""The help pages: everything is told, nothing is cut off."""

from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.cli.propose.options import TAKES, ChangeKind


def _pages(path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command, by the words that call it."""
    command = typer.main.get_command(app)
    for word in path:
        command = command.commands[word]  # type: ignore[attr-defined]  # a group, as it was found below
    yield path
    for name in getattr(command, "commands", {}):
        yield from _pages((*path, name))


PAGES = list(_pages())


def _shown(*path: str) -> str:
    done = CliRunner().invoke(app, [*path, "--help"], terminal_width=80)
    assert done.exit_code == 0
    return done.stdout


def _listed(page: str, section: str) -> list[str]:
    """The lines of one section."""
    return page.partition(f"\n{section}:\n")[2].partition("\n\n")[0].splitlines()


@pytest.mark.parametrize("path", PAGES, ids=" ".join)
def test_no_summary_of_a_command_is_cut_off(path: tuple[str, ...]) -> None:
    assert [line for line in _listed(_shown(*path), "Commands") if line.endswith("...")] == []


@pytest.mark.parametrize("path", PAGES, ids=" ".join)
def test_everything_that_a_command_takes_is_explained(path: tuple[str, ...]) -> None:
    command = typer.main.get_command(app)
    for word in path:
        command = command.commands[word]  # type: ignore[attr-defined]  # a group, as its page was found
    assert [each.name for each in command.params if not getattr(each, "help", None)] == []


@pytest.mark.parametrize("kind", ChangeKind)
def test_the_help_of_propose_tells_what_each_operation_takes(kind: ChangeKind) -> None:
    lines = [line.split() for line in _listed(_shown("propose") + "\n\n", "\n  What each operation takes")]
    assert [kind.value, *TAKES[kind]] in lines
