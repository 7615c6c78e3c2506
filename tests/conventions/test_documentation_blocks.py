"""Every block of code in the documentation is run by a test, or checked by one here; none is only shown."""

import json
import re
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from headgate.cli.main import app
from headgate.settings.loading import load_settings
from headgate_bus.kafka.address import parse_kafka_address
from support.compose.parsing import parse
from support.docs.page_blocks import DOCS, ROOT, Block, blocks_of, pages
from support.processes.command_lines import commands

BLOCKS = [block for page in pages() for block in blocks_of(page)]
SHELL = [(block.page, words) for block in BLOCKS if block.kind == "sh" for words in commands(block.body)]

PYTHON_RUN_BY = {
    "README.md": ("tests/conventions/test_readme.py", "tests/spark/test_spark_examples.py"),
    "docs/guide-spark-stream.md": ("tests/spark/test_spark_examples.py",),
    "docs/milvus.md": ("tests/milvus/test_milvus_page.py",),
    "docs/mirror.md": ("tests/table/delta/test_mirror_page.py",),
    "docs/reading-with-other-engines.md": ("tests/table/read/test_other_engines.py",),
    "docs/rows.md": ("tests/front/test_rows_page.py",),
    "docs/spark.md": ("tests/spark/test_spark_examples.py",),
    "docs/spark-changes-and-sql.md": ("tests/spark/test_spark_examples.py",),
}
"""The pages whose Python is run, and by what."""
TEXT_CHECKED_BY = {
    "docs/guide-kafka-batch-job.md": "tests/producer/test_kafka_batch_job.py",
    "docs/milvus.md": "tests/milvus/test_milvus_page.py",
    "docs/mirror.md": "tests/table/delta/test_mirror_page.py",
    "docs/operating.md": "tests/deployment/test_operating_page.py",
    "docs/reading-with-other-engines.md": "tests/table/read/test_other_engines.py",
    "docs/rows.md": "tests/front/test_rows_page.py",
    "docs/spark.md": "tests/spark/test_spark_examples.py",
}
"""The pages whose printed results are compared with what comes."""
JSON_CHECKED_BY = {"docs/messages.md": "tests/schemas/test_messages_page.py"}
"""The pages whose JSON is read as what it stands for; of all others it is only JSON."""

OF_THE_SYSTEM = {"bash", "cat", "cd", "cp", "echo", "export", "kill", "mkdir", "printf", "rm", "sleep", "wait"}
UNCHECKED_KINDS = {""}
"""Drawings, and what benchmarks printed."""

_SEQUENCE_WORDS = r"loop|alt|else|opt|par|and|critical|option|break|rect|end|activate|deactivate|autonumber"


def named(block: Block) -> str:
    return f"{block.page}-{block.heading[:30]}"


def test_no_block_is_of_a_kind_that_nobody_checks() -> None:
    known = {"sh", "python", "text", "toml", "json", "yaml", "mermaid", *UNCHECKED_KINDS}
    assert [(block.page, block.kind) for block in BLOCKS if block.kind not in known] == []


@pytest.mark.parametrize(("pages_of", "kind"), [(PYTHON_RUN_BY, "python"), (TEXT_CHECKED_BY, "text")])
def test_every_page_with_such_blocks_has_a_test_that_reads_it(pages_of: dict[str, Any], kind: str) -> None:
    assert {block.page for block in BLOCKS if block.kind == kind} == set(pages_of)
    for page, tests in pages_of.items():
        for test in (tests,) if isinstance(tests, str) else tests:
            assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), f"{test} doesn't read {page}"


@pytest.mark.parametrize("block", [block for block in BLOCKS if "no-test" in block.words], ids=named)
def test_python_that_is_not_run_is_python_with_names_that_there_are(block: Block) -> None:
    compile(block.body, block.page, "exec")
    modules = re.findall(r"^(?:import|from) ([\w.]+)", block.body, re.MULTILINE)
    assert modules
    for module in modules:
        import_module(module)
    for module, name in re.findall(r"\b(pyspark_headgate|headgate)\.([A-Za-z_]+)", block.body):
        assert name in ("zip", "spark") or name.startswith("__") or hasattr(import_module(module), name), name


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.kind == "mermaid"], ids=named)
def test_a_diagram_is_of_a_known_kind_and_names_what_it_declares(block: Block) -> None:
    """A browser draws it, or says nothing but that it can't."""
    kind, *lines = (line.strip() for line in block.body.splitlines() if line.strip())
    assert re.fullmatch(r"sequenceDiagram|(flowchart|graph) (TB|TD|BT|LR|RL)|stateDiagram-v2", kind)
    if kind != "sequenceDiagram":
        return
    declared: set[str] = set()
    for line in lines:
        if found := re.fullmatch(r"(?:participant|actor) (\w+)(?: as .+)?", line):
            declared.add(found[1])
        elif found := re.fullmatch(r"(\w+) ?-{1,2}(?:>>?|x|\)) ?[+-]?(\w+) ?: .+", line):
            assert {found[1], found[2]} <= declared, line
        elif found := re.fullmatch(r"Note (?:over|left of|right of) (\w+)(?:, ?(\w+))?: .+", line):
            assert {name for name in found.groups() if name} <= declared, line
        else:
            assert re.match(rf"(?:{_SEQUENCE_WORDS})\b|%%", line), line


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.kind == "sh"], ids=named)
def test_shell_is_shell(block: Block) -> None:
    checked = subprocess.run(["bash", "-n"], input=block.body, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert list(commands(block.body))


@pytest.mark.parametrize(
    ("page", "words"), SHELL, ids=lambda each: " ".join(each)[:60] if isinstance(each, list) else ""
)
def test_every_command_is_one_that_there_is(page: str, words: list[str]) -> None:
    match words:
        case ["headgate", *rest]:
            understood(rest)
        case ["make", *targets]:
            declared = set(re.findall(r"^([a-z-]+%?):", (ROOT / "Makefile").read_text(), re.MULTILINE))
            wanted = [target for target in targets if "=" not in target]
            assert [each for each in wanted if not {each, re.sub(r"-[a-z]+$", "-%", each)} & declared] == []
        case ["docker", "compose", *rest]:
            asked_of_compose(rest)
        case ["python3", "-m", "venv", _]:
            pass
        case ["python", "-c", program]:
            compile(program, page, "exec")
        case ["python", program, *_] if program.startswith("examples/"):
            assert (ROOT / program).is_file()
        case ["python", program]:
            assert [block for block in BLOCKS if block.page == page and f'title="{program}"' in block.words]
        case ["spark-submit", "--packages", _, program, *_]:
            assert (ROOT / program).is_file()
        case ["git", "clone", *_]:
            pass
        case [program, "install", *what] if Path(program).name == "pip":
            assert extras_of(what) <= set(declared_extras())
        case [program, *_]:
            assert program in OF_THE_SYSTEM, f"nobody knows {program}: check it here, or run it"


def understood(words: list[str]) -> None:
    """The command line takes these words."""
    commands_so_far: list[Any] = [typer.main.get_command(app)]
    for word in words:
        within = getattr(commands_so_far[-1], "commands", None)
        if within is None:
            break
        if word in ("--help", "--version"):
            return
        assert word in within, f"there is no command {word!r}"
        commands_so_far.append(within[word])
    *above, command = commands_so_far
    command.make_context(command.name, words[len(above) :])


def asked_of_compose(words: list[str]) -> None:
    """Services and profiles that the file has."""
    services = parse(ROOT / "compose.yaml", {"HEADGATE_STORE_S3_SECRET_KEY": "a-secret-of-the-tests"}).services
    profiles = {name for service in services.values() for name in service.body.get("profiles", [])}
    if words[0] == "--profile":
        assert words[1] in profiles
        words = words[2:]
    assert words[0] in {"up", "down", "run", "ps", "logs"}
    assert {word.partition("=")[0] for word in words[1:] if not word.startswith("-")} <= set(services)


def declared_extras() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, Any] = project["optional-dependencies"]
    return extras


def extras_of(words: list[str]) -> set[str]:
    return {extra.strip() for word in words for found in re.findall(r"\[([^]]+)\]", word) for extra in found.split(",")}


ADDRESSES = sorted({found for block in BLOCKS for found in re.findall(r"kafka://[^\s'\"`]+", block.body)})


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_of_a_bus_can_be_read(address: str) -> None:
    assert parse_kafka_address(address).servers


def test_the_example_of_a_login_says_all_that_a_broker_asks_for() -> None:
    """tests/bus and tests/system speak to a broker by such an address."""
    [secured] = [parse_kafka_address(address) for address in ADDRESSES if "SASL_SSL" in address]
    assert secured.client["sasl_plain_password"] == "p&ss"
    assert "p&ss" not in str(secured)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.kind == "toml"], ids=named)
def test_a_settings_file_is_read_whole(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "headgate.toml"
    path.write_text(block.body)
    assert load_settings({}, {}, path) != load_settings({}, {}, None)


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.kind == "json" and block.page not in JSON_CHECKED_BY], ids=named
)
def test_json_is_json(block: Block) -> None:
    """Lines of a log: one value each. What is left out of them is said by dots."""
    for line in block.body.replace("[…]", "[]").splitlines():
        assert json.loads(line)


def test_every_page_is_in_the_navigation_and_on_the_first_page() -> None:
    shown = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    first = (DOCS / "index.md").read_text(encoding="utf-8")
    names = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page != DOCS / "index.md"]
    assert [name for name in names if f" {name}\n" not in shown] == []
    assert [name for name in names if f"]({name})" not in first] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def anchors(page: Path) -> set[str]:
    """As the site makes them of headings."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        named_so = re.search(r"\{ *#([\w-]+) *\}", heading)
        bare = re.sub(r"[^\w\s-]", "", heading).strip().lower()
        found.add(named_so[1] if named_so else re.sub(r"[\s-]+", "-", bare))
    return found
