"""The cache of test tools makes each tool once, whole, and again when it is broken."""

import sys
from pathlib import Path

import pytest
import tenacity

from support.servers import tool_cache
from support.servers.tool_cache import ToolFailure, provide, run
from support.stores.races import race


def making(made: list[Path], text: str = "tool") -> tool_cache.Make:
    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "program").write_text(text)

    return make


def test_a_tool_is_made_once_by_whoever_comes_first(tmp_path: Path) -> None:
    made: list[Path] = []
    found = race(8, lambda number: provide("tool", "1", "program", making(made), cache=tmp_path))
    assert (len(made), {path.read_text() for path in found}) == (1, {"tool"})


def test_another_version_is_another_tool(tmp_path: Path) -> None:
    first = provide("tool", "1", "program", making([], "one"), cache=tmp_path)
    second = provide("tool", "2", "program", making([], "two"), cache=tmp_path)
    assert (first.read_text(), second.read_text()) == ("one", "two")


def test_a_damaged_tool_is_made_again(tmp_path: Path) -> None:
    made: list[Path] = []
    program = provide("tool", "1", "program", making(made), cache=tmp_path)
    program.write_text("half a tool")
    assert provide("tool", "1", "program", making(made), cache=tmp_path).read_text() == "tool"
    assert len(made) == 2


def test_a_tool_that_can_not_be_made_is_tried_three_times_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Path] = []

    def make(folder: Path) -> None:
        tried.append(folder)
        (folder / "rubbish").write_text("")
        run(sys.executable, "-c", "raise SystemExit('out of luck')")

    monkeypatch.setattr(tool_cache, "WAIT", tenacity.wait_none())
    with pytest.raises(ToolFailure, match="out of luck"):
        provide("tool", "1", "program", make, cache=tmp_path)
    assert (len(tried), [path.name for path in (tmp_path / "tool").iterdir()]) == (3, ["1.lock"])
