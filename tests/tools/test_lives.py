"""The lives of docs/architecture.md are lived as it says: each station is passed, and no life leads through ever more modules."""

import functools
import subprocess
import sys

import pytest

from support.docs.architecture_page import HEADINGS, most_modules, passed
from support.docs.page_blocks import ROOT
from support.lives import LIVES, Trace, lived


@functools.cache
def traced(life: str) -> Trace:
    return lived(life)


def test_every_life_of_the_page_is_played() -> None:
    assert LIVES.keys() == HEADINGS.keys()


@pytest.mark.parametrize("life", LIVES)
def test_every_station_is_passed(life: str) -> None:
    assert passed(life)
    assert [name for name in passed(life) if name not in traced(life).functions] == []


@pytest.mark.parametrize("life", LIVES)
def test_no_life_leads_through_more_modules_than_the_page_allows(life: str) -> None:
    modules = traced(life).modules
    assert most_modules()[life] - 10 <= len(modules) <= most_modules()[life], f"the page's bound is not near: {modules}"


def test_the_program_counts_and_names_what_takes_part() -> None:
    done = subprocess.run(
        [sys.executable, "tests/tooling/lives.py", "--list", "read"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    first, *rest = done.stdout.splitlines()
    # What a process did before decides about some functions: caches are filled once.
    assert first.startswith(f"read: {len(traced('read').modules)} modules, ")
    assert ["MainThread", "headgate_table.table:Table.open"] in [line.split() for line in rest[:6]]
