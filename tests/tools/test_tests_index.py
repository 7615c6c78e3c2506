"""tests/INDEX.md is what `make index` writes now, and leads to tests that exist."""

import re

import pytest

from support.docs.page_blocks import ROOT
from tooling.pages.tests_index import INDEX, dotted, found_tests, mirrored, modules, nearest, page


def test_the_index_is_current() -> None:
    assert INDEX.read_text(encoding="utf-8") == page(), "tests or modules changed: run `make index`"


def test_every_module_is_in_it_with_tests_that_exist() -> None:
    text = INDEX.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+\.py)` \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) == len(list(modules()))
    named = {test for _, tests in rows for test in re.findall(r"`([^`]+)`", tests)}
    assert [test for test in sorted(named) if not (ROOT / "tests" / test).exists()] == []


@pytest.mark.parametrize(
    ("module", "first", "folder"),
    [
        ("schemas/headgate_schemas/arguments.py", None, "schemas"),
        ("worker/headgate_worker/roles/compact.py", "worker/roles/test_compact_histories.py", "worker/roles"),
        ("bus/headgate_bus/marks.py", "bus/test_marks.py", "bus"),
    ],
)
def test_the_nearest_test_comes_first(module: str, first: str | None, folder: str) -> None:
    path = ROOT / module
    assert mirrored(path) == folder
    shown = nearest(path, found_tests()[path])
    assert first is None or shown[0] == first


def test_a_module_is_named_as_it_is_imported() -> None:
    assert dotted(ROOT / "bus/headgate_bus/marks.py") == "headgate_bus.marks"
