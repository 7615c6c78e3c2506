"""Processes of the torture whose clock is off: what they write shows it, and that of others doesn't."""

import sys
from pathlib import Path

from headgate_schemas.ambient import SystemAmbient
from support.logs.raw_log import LOG, read_lines
from support.torture.stage.children import running_child

COMMAND = [sys.executable, "-m", "support.torture.stage.skewed", "table", "create"]
SKEW_S = 7_200
CLOSE_S = 600


def created_s(folder: Path, skew_s: int) -> float:
    """When a table was made, as the process that made it saw the time."""
    command = [*COMMAND, str(folder / "table"), "--schema", "id BIGINT"]
    folder.mkdir()
    with running_child("creator", command, folder, skew_s=skew_s) as child:
        assert child.ended() == 0, child.said()
    actions = read_lines((folder / "table" / LOG / f"{0:020d}.json").read_bytes())
    (created,) = (action["metaData"]["createdTime"] for action in actions if "metaData" in action)
    return float(created) / 1000


def test_a_child_with_a_skew_has_another_time_than_one_without(tmp_path: Path) -> None:
    now_s = SystemAmbient().now_ms() / 1000
    assert abs(created_s(tmp_path / "right", 0) - now_s) < CLOSE_S
    assert abs(created_s(tmp_path / "early", -SKEW_S) - (now_s - SKEW_S)) < CLOSE_S
