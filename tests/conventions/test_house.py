"""The house rules that no linter knows, checked on the whole tree: names, docstrings, words that must not be written."""

import ast
import functools
import re
import tomllib
from collections.abc import Iterator, Set
from pathlib import Path

import pathspec
import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("schemas", "table", "bus", "producer", "committer", "worker", "front")
ROOM_FOLDERS = ("schemas", "table", "bus", "producer", "committer", "worker", "front")
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
MOST_PARAMETERS = 7
"""Of a constructor. What takes more is made from a context or a value that has a name of its own."""
OWED_CONSTRUCTORS: set[str] = set()
"""Constructors that have yet to lose some. The list only shrinks."""
FEWEST_LINES = 30
"""Of a module with a single importer. What is shorter belongs there, unless its package says why it is apart."""
OWED_MODULES: set[str] = set()
"""Modules that have yet to be folded into their only importer. The list only shrinks."""
SWITCHES_OFF = {"skip", "skipif", "xfail", "importorskip"}

FOREIGN = re.compile(
    r"(?:^|[^\w.])/(?:work|farm|root|tmp|opt(?!/kafka/bin))/\w"
    r"|(?:^|[^\w.])/home/\w"
    r"|\.\./(?:shared|\.library)"
    r"|\b(?:pypi|pythonhosted|npmjs|proxy\.golang|crates|rubygems)\.(?:org|io|com)\b"
    r"|\b(?:repo1?\.maven|deb\.debian)\."
)
"""Paths of some machine (not of the Kafka image), folders beside the project, hosts of package registries."""


@functools.cache
def tree_files() -> tuple[Path, ...]:
    """Every file that belongs to the project: what git would not ignore."""
    ignored = pathspec.GitIgnoreSpec.from_lines([*(ROOT / ".gitignore").read_text().splitlines(), "/.git"])
    return tuple(sorted(ROOT / name for name in ignored.match_tree_files(ROOT, negate=True)))


def modules() -> list[Path]:
    return [path for path in tree_files() if path.suffix == ".py"]


def named(path: Path, line: int = 0) -> str:
    return f"{path.relative_to(ROOT)}:{line}" if line else str(path.relative_to(ROOT))


def packages_on_disk() -> list[str]:
    """`folder/package` of every room that is there."""
    return sorted(
        f"{folder}/{package.parent.name}"
        for folder in ROOM_FOLDERS
        for package in (ROOT / folder).glob("*/__init__.py")
    )


def setting(*keys: str) -> list[str]:
    """A list of texts in pyproject.toml."""
    value = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for key in keys:
        value = value[key]
    assert isinstance(value, list)
    return value


def only_re_exports(statement: ast.stmt) -> bool:
    """A docstring, an import, a table of names, or the two hooks of lazy modules."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(value=ast.Dict() | ast.List() | ast.Tuple() | ast.Call(func=ast.Name(id="list"))):
            return True
        case ast.AnnAssign(value=ast.Dict() | ast.List() | ast.Tuple()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=[]):
            return all(map(only_re_exports, statement.body))
        case ast.FunctionDef(name="__getattr__" | "__dir__"):
            return True
        case _:
            return False


def switched_off(tree: ast.Module) -> Iterator[int]:
    """The lines that switch a test off."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in SWITCHES_OFF:
                if re.match(r"pytest\.|unittest\.", ast.unparse(node)):
                    yield node.lineno
            case ast.ImportFrom(module="pytest" | "unittest", names=names):
                if any(name.name in SWITCHES_OFF for name in names):
                    yield node.lineno


def test_no_file_names_a_machine_or_a_registry() -> None:
    offenders = [
        f"{named(path, number)}: {line.strip()[:100]}"
        for path in tree_files()
        if path != ROOT / ".ci/run"
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if FOREIGN.search(line)
    ]
    assert offenders == []


@pytest.mark.parametrize(
    "text",
    [
        "/".join(["see ", "work", "main"]),
        "/".join(["", "tmp", "table"]),
        "/".join(["..", "shared", "facts"]),
        ".".join(["https://pypi", "org"]),
    ],
)
def test_the_search_for_foreign_words_finds_them(text: str) -> None:
    assert FOREIGN.search(text)


def test_every_module_opens_with_a_docstring() -> None:
    assert [named(path) for path in modules() if not ast.get_docstring(ast.parse(path.read_bytes()))] == []


def test_every_module_has_a_name_that_says_something() -> None:
    assert [named(path) for path in modules() if SAYS_NOTHING & {path.stem, path.parent.name}] == []


def test_a_public_class_name_stands_for_one_thing() -> None:
    """Break: two classes of one name, so that a reader takes one for the other. The `Table` of `headgate` extends the table room's."""
    places: dict[str, list[str]] = {}
    for path in modules():
        if path.relative_to(ROOT).parts[0] not in ROOMS:
            continue
        for statement in ast.parse(path.read_bytes()).body:
            if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
                places.setdefault(statement.name, []).append(named(path))
    assert {name: found for name, found in places.items() if len(found) > 1 and name != "Table"} == {}


def test_init_files_only_re_export() -> None:
    offenders = [
        named(path, statement.lineno)
        for path in modules()
        if path.name == "__init__.py"
        for statement in ast.parse(path.read_bytes()).body
        if not only_re_exports(statement)
    ]
    assert offenders == []


def test_no_test_is_switched_off() -> None:
    offenders = [named(path, line) for path in modules() for line in switched_off(ast.parse(path.read_bytes()))]
    assert offenders == []


def test_switching_off_is_noticed_in_every_form() -> None:
    """The program is only parsed: it is what the check above must find."""
    tree = ast.parse("import pytest\npytest.skip('x')\n@pytest.mark.xfail\ndef f(): ...\nfrom pytest import skip\n")
    assert sorted(switched_off(tree)) == [2, 3, 5]


def test_writers_of_foreign_tables_import_nothing_of_ours() -> None:
    """A table that is read by the code that wrote it proves nothing."""
    offenders = [
        named(path, node.lineno)
        for path in modules()
        if path.is_relative_to(ROOT / "tests/support/writers")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and re.search(r"\bimport headgate|\bfrom headgate", ast.unparse(node))
    ]
    assert offenders == []


def test_test_files_have_different_names() -> None:
    names = [path.name for path in modules() if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))


def test_packages_of_rooms_are_regular() -> None:
    folders = {path.parent for path in modules() if path.relative_to(ROOT).parts[0] in ROOM_FOLDERS}
    assert [named(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_room_on_disk_is_built_into_the_wheel() -> None:
    assert sorted(setting("tool", "hatch", "build", "targets", "wheel", "packages")) == packages_on_disk()


def test_the_import_contracts_know_every_room_on_disk() -> None:
    assert sorted(setting("tool", "importlinter", "root_packages")) == sorted(
        package.split("/")[1] for package in packages_on_disk()
    )


@pytest.mark.parametrize(
    "keys",
    [
        ("tool", "hatch", "build", "dev-mode-dirs"),
        ("tool", "mypy", "mypy_path"),
        ("tool", "ruff", "src"),
    ],
    ids=".".join,
)
def test_the_tools_know_every_room_on_disk(keys: tuple[str, ...]) -> None:
    assert {package.split("/")[0] for package in packages_on_disk()} - set(setting(*keys)) == set()


def test_every_room_says_that_it_is_typed() -> None:
    assert [package for package in packages_on_disk() if not (ROOT / package / "py.typed").exists()] == []


def test_no_public_name_of_a_package_is_that_of_a_module_in_it() -> None:
    """Break: `headgate.spark.write` is a function until somebody imports a module of that name, and a module ever after."""
    taken = []
    for path in modules():
        if path.name != "__init__.py" or path.relative_to(ROOT).parts[0] not in ROOMS:
            continue
        inside = {
            each.stem for each in path.parent.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
        }
        source = path.read_text(encoding="utf-8")
        offered = {
            node.value
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
        }
        taken += [f"{named(path)}: {name}" for name in sorted(offered & inside)]
    assert taken == []


def room_modules() -> list[Path]:
    return [path for path in modules() if path.relative_to(ROOT).parts[0] in ROOMS]


def offered_classes() -> set[str]:
    """The names that users import from `headgate`."""
    tree = ast.parse((ROOT / "front/headgate/__init__.py").read_bytes())
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def long_constructors(tree: ast.Module, offered: Set[str]) -> Iterator[str]:
    """Public classes whose constructor has too many parameters.

    A dataclass has none by hand: its fields are what it means. A class that users make may have more of them as options,
    which are given by name and have defaults.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                given = method.args
                count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs) - 1
                if node.name in offered:
                    count -= sum(default is not None for default in given.kw_defaults)
                if count > MOST_PARAMETERS:
                    yield node.name


def test_no_public_class_takes_more_than_seven_things() -> None:
    """Break: hand one more object through every constructor, instead of adding it to their context."""
    found = {
        f"{named(path)}: {name}"
        for path in room_modules()
        for name in long_constructors(ast.parse(path.read_bytes()), offered_classes())
    }
    assert found == OWED_CONSTRUCTORS


def test_a_long_constructor_is_found_and_options_of_users_are_not_counted() -> None:
    many, options = ", ".join("abcdefgh"), ", ".join(f"{name}=0" for name in "abcdefgh")
    tree = ast.parse(
        f"class Long:\n def __init__(self, {many}): ...\n"
        f"class Offered:\n def __init__(self, bus, *, {options}): ...\n"
        f"class _Private:\n def __init__(self, {many}): ...\n"
    )
    assert list(long_constructors(tree, {"Offered"})) == ["Long"]
    assert list(long_constructors(tree, set())) == ["Long", "Offered"]


def importers() -> dict[str, set[str]]:
    """By module of a room, the modules of rooms that import it."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts[1:]).removesuffix(".__init__"): path
        for path in room_modules()
    }
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for node in ast.walk(ast.parse(path.read_bytes())):
            match node:
                case ast.ImportFrom(module=str(module), names=imported):
                    wanted = {module, *(f"{module}.{each.name}" for each in imported)}
                case ast.Import(names=imported):
                    wanted = {each.name for each in imported}
                case _:
                    continue
            for each in wanted & names.keys():
                found[each].add(name)
    return found


def test_a_short_module_with_one_importer_has_a_reason_that_its_package_tells() -> None:
    """Break: a file for three lines, so that whoever follows a call opens one more. The reason names the module."""
    short = set()
    by_module = importers()
    for path in room_modules():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts[1:])
        if path.stem.startswith("__") or len(path.read_bytes().splitlines()) >= FEWEST_LINES:
            continue
        told = ast.get_docstring(ast.parse((path.parent / "__init__.py").read_bytes())) or ""
        if len(by_module[name] - {name}) <= 1 and f"`{path.stem}`" not in told:
            short.add(named(path))
    assert short == OWED_MODULES
