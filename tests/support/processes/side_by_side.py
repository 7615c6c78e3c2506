"""How the suite is spread over processes that run side by side, under pytest-xdist: who shares a server stays together.

So does every other file as a whole. Long chains of tests come first, so that no process is left with one at the end.
"""

import functools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler.loadscope import LoadScopeScheduling

SERVERS = {
    "spark": re.compile(r'\bspark: "?(SparkSession|Any)\b'),
    "kafka": re.compile(r'\b(kafka_address|new_kafka_bus|kafka_stage|new_scene)(: |")'),
}
"""What takes long to start, by the fixtures that its users ask for; or they have it as a parameter. One that isn't known starts
its own."""
FIRST = (
    "system",
    "spark",
    "kafka",
    "tests/system/",
    "tests/simulation/",
    "tests/spark/",
    "tests/worker/",
    "tests/front/",
)
"""What takes longest, by the beginnings of names of groups and files."""
SPREAD = re.compile(r"tests/simulation/test_\w+_runs\.py")
"""Files of many tests that share nothing and take long together: they are spread by the numbers that are their parameters."""
SHARES = 4
MOST_PROCESSES = 6
"""Each may hold servers of its own, and some hundred megabytes."""


def unit_of(nodeid: str, root: Path) -> str:
    """What is handed to one process as a whole: a group of tests that share a server, or what is left of a file."""
    path, _, name = nodeid.partition("::")
    parameters, text = name.partition("[")[2], _text(root / path)
    server = next((each for each, asks in SERVERS.items() if each in parameters or asks.search(text)), None)
    number = parameters.removesuffix("]")
    if SPREAD.fullmatch(path) and number.isdecimal():
        return f"{path}#{int(number) % SHARES}"
    # System tests take so long that they have a broker to themselves.
    return "system" if server == "kafka" and path.startswith("tests/system/") else server or path


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def rank(unit: str) -> int:
    return next((place for place, start in enumerate(FIRST) if unit.startswith(start)), len(FIRST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, since many tests wait for a server most of their time."""
    return min((os.cpu_count() or 1) + 1, MOST_PROCESSES)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(unit_of(item.nodeid, config.rootpath)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "LoadScopeScheduling | None":
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler.loadscope import LoadScopeScheduling

    # Else those with the most tests would come first, however quick they are.
    config.option.loadscopereorder = False

    class ByServerOrFile(LoadScopeScheduling):  # type: ignore[misc]  # the library is checked without its types
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid, config.rootpath)

    return ByServerOrFile(config, log)
