"""What a short command and an import load, counted in modules: nothing of what only some processes need."""

import json
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import pytest

OURS = {"headgate", "headgate_schemas", "headgate_table", "headgate_bus", "headgate_producer", "headgate_committer"}
OURS |= {"headgate_worker", "pyspark_headgate"}
COMMAND_LINE = {"typer", "annotated_doc", "shellingham", "click"}
"""What reads options and prints help."""
VALUES = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"}
"""By which typer itself reads the options of a command."""
BEYOND_THE_CORE = {"azure", "boto3", "botocore", "kafka", "py4j", "pyspark"}
OF_SOME_PROCESSES = {"lark", "prometheus_client", "rich", "starlette", "typer", "uvicorn"}


@cache
def loaded(program: str) -> frozenset[str]:
    """The names of the modules that are loaded after the program, in a fresh interpreter."""
    tell = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program + tell], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return frozenset(json.loads(done.stderr.splitlines()[-1]))


def command(*words: str) -> str:
    return f"import sys; sys.argv = ['headgate', *{words!r}]\nfrom headgate.__main__ import main\nassert main() == 0"


def foreign(modules: frozenset[str]) -> set[str]:
    """The libraries among them, by their top names."""
    known = sys.stdlib_module_names | OURS | tops(loaded("pass"))  # the environment itself may load something
    return {top for top in tops(modules) if top not in known and not top.startswith("_sysconfigdata")}


def tops(modules: frozenset[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def is_package(name: str) -> bool:
    """Packages hold no code of their own, and come along with each of their modules."""
    found = find_spec(name)
    return found is not None and found.submodule_search_locations is not None


def test_importing_headgate_loads_itself_alone() -> None:
    modules = loaded("import headgate")
    assert foreign(modules) == set()
    assert {name for name in modules if name.partition(".")[0] in OURS} == {"headgate"}


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_loads_no_library_but_that_of_the_command_line(word: str) -> None:
    assert foreign(loaded(command(word))) <= COMMAND_LINE


@pytest.mark.parametrize("words", [("table", "--help"), ("committer", "--help"), ("sql", "--help")], ids=" ".join)
def test_help_of_a_command_loads_little_more(words: tuple[str, ...]) -> None:
    assert foreign(loaded(command(*words))) <= COMMAND_LINE | VALUES


def test_help_loads_few_of_our_own_modules() -> None:
    """One for each group of commands, and little behind them: whoever adds an import at the top of one notices it here."""
    ours = {name for name in loaded(command("--help")) if name.partition(".")[0] in OURS}
    behind = {name for name in ours if not name.startswith("headgate.cli")} - {"headgate.__main__"}
    modules = {name for name in behind if not is_package(name)}
    assert len(modules) <= 14, sorted(modules)


def test_all_public_names_need_nothing_beyond_the_core() -> None:
    """But that of the records of a Kafka topic, which is for those who have Kafka."""
    modules = loaded("import headgate\nfor name in {*headgate.__all__} - {'KafkaRecords'}: getattr(headgate, name)")
    assert foreign(modules) & (BEYOND_THE_CORE | OF_SOME_PROCESSES) <= {"lark"}
