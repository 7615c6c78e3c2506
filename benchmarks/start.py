"""How soon Headgate is there: imports and a first look at a table beside peers, commands, and a newcomer's first commit.

    python benchmarks/start.py [--only import,look,command] [--runs 15] [--files 1000] [--newcomer]

Every run is a process, from its start to its end. The engines of a work take turns, after one run of each that is not counted.
`processor` is what all threads of the process took of the processors. The row `python` is an interpreter that does nothing;
that is part of all other rows. A ratio is to Headgate's first row of the work.

import: what each library's own first page imports. `import headgate` loads itself alone, and the rest when it is asked for:
`all names` asks for every public name of the core, behind which are all the libraries that it stands on.
look: a program that imports what it needs, opens a table of so many files, and lists the live ones.
command: commands of `headgate`. Of the peers only pyiceberg has a command line.

From the programs of the first two, pandas is hidden: none of the three needs it, and pyarrow loads it where it is installed.

--newcomer: the way of one who follows the README, once: clone, `make demo` in an environment of its own, the first Python
example. The clone is of what is committed, from this machine; pip's settings and cache are as they are here.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from parts.newcomer import follow
from parts.processes import Timing, in_turns
from parts.tables import make_delta, make_headgate, make_iceberg

DELTA, ICEBERG = "delta-rs", "pyiceberg"
IMPORT, ALL_NAMES, HELP = "import headgate", "headgate, all names", "headgate --help"
NEWCOMER = "a newcomer's first commit"
BEYOND_THE_CORE = "KafkaRecords"
WITHOUT_PANDAS = """
import sys
class Hides:
    def find_spec(self, name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hides())
"""

LIMITS_MS = {IMPORT: 500.0, ALL_NAMES: 500.0, HELP: 400.0, NEWCOMER: 120_000.0}
WIDTHS = (26, 10, 10, 8, 10, 5, 0)


@dataclass(frozen=True, slots=True)
class Work:
    """Processes that are compared, by their names; the first one is ours."""

    title: str
    commands: Callable[[Path, int], Mapping[str, Sequence[str]]]


def main() -> None:
    asked = _arguments()
    print(f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, {asked.runs} runs")
    packages = (("headgate", "headgate"), (DELTA, "deltalake"), (ICEBERG, "pyiceberg"))
    print(", ".join(f"{name} {_version(package)}" for name, package in packages))
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="bench-start-") as scratch:
        for name in asked.only:
            work = WORKS[name]
            print(f"\n## {name}: {work.title}\n")
            commands = work.commands(Path(scratch), asked.files)
            _print_row("process", "median ms", "fastest", "ratio", "processor", "runs", "")
            found |= _compare(commands, in_turns(commands, asked.runs, Path(scratch)))
    if asked.newcomer:
        found[NEWCOMER] = _newcomer(asked.python)
    print("\n## targets\n")
    for row in (("target", "limit ms", "measured ms", "met"), *targets(found)):
        print(f"| {' | '.join(row)} |")


def targets(found: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """A row for each; one that was not measured says so."""
    for name, limit in LIMITS_MS.items():
        measured = found.get(name)
        told = ("not run", "-") if measured is None else (f"{measured:,.0f}", "no" if measured > limit else "yes")
        yield (name, f"{limit:,.0f}", *told)


def _compare(commands: Mapping[str, Sequence[str]], timings: Mapping[str, Timing | str]) -> dict[str, float]:
    """Print the rows; medians in milliseconds, by name."""
    medians = {name: timing.median_s for name, timing in timings.items() if isinstance(timing, Timing)}
    first = medians.get(next(iter(commands)))
    for name, timing in timings.items():
        if isinstance(timing, str):
            _print_row(name, "failed", "-", "-", "-", "-", timing)
            continue
        _print_row(
            name,
            f"{timing.median_s * 1000:,.0f}",
            f"{min(timing.seconds) * 1000:,.0f}",
            "-" if first is None else f"{timing.median_s / first:.1f}x",
            f"{timing.processor_median_s * 1000:,.0f}",
            str(len(timing.seconds)),
            "",
        )
    return {name: median * 1000 for name, median in medians.items()}


def _newcomer(python: str) -> float:
    print("\n## newcomer: from a clone to the first commit, as the README says\n")
    total_s = 0.0
    for step in follow(python):
        total_s += step.seconds
        print(f"{step.seconds:8.1f} s  {step.what}", flush=True)
    print(f"{total_s:8.1f} s  in all")
    return total_s * 1000


def _imports(folder: Path, files: int) -> Mapping[str, Sequence[str]]:
    names = (
        f"import headgate\nfor name in headgate.__all__:\n    if name != {BEYOND_THE_CORE!r}: getattr(headgate, name)"
    )
    return {
        IMPORT: _python("import headgate"),
        ALL_NAMES: _python(names),
        DELTA: _python("from deltalake import DeltaTable, write_deltalake"),
        ICEBERG: _python("from pyiceberg.catalog import load_catalog"),
        PYTHON: PASS,
    }


def _looks(folder: Path, files: int) -> Mapping[str, Sequence[str]]:
    ours, delta, iceberg = (str(folder / name) for name in ("ours", "delta", "iceberg"))
    make_headgate(ours, files)
    listed = f"assert len(list(found)) == {files}, found"
    commands = {
        "headgate": _python(f"import headgate\nfound = headgate.Table.open({ours!r}).snapshot().paths()\n{listed}")
    }
    if _version("deltalake") != NOT_THERE:
        make_delta(delta, files)
        program = f"from deltalake import DeltaTable\nfound = DeltaTable({delta!r}).file_uris()\n{listed}"
        commands[DELTA] = _python(program)
    if _version("pyiceberg") != NOT_THERE:
        make_iceberg(iceberg, files)
        location = (Path(iceberg) / "metadata_location").read_text()
        program = f"found = StaticTable.from_metadata({location!r}).scan().plan_files()\n{listed}"
        commands[ICEBERG] = _python(f"from pyiceberg.table import StaticTable\n{program}")
    return commands | {PYTHON: PASS}


def _commands(folder: Path, files: int) -> Mapping[str, Sequence[str]]:
    table = str(folder / "described")
    make_headgate(table, files)
    return {
        HELP: _script("headgate", "--help"),
        "headgate table describe": _script("headgate", "table", "describe", table),
        "headgate doctor": _script("headgate", "doctor"),
        "pyiceberg --help": _script("pyiceberg", "--help"),
        PYTHON: PASS,
    }


WORKS = {
    "import": Work("the library and the interpreter", _imports),
    "look": Work("a program that lists the live files of a small table", _looks),
    "command": Work("commands", _commands),
}

NOT_THERE = "not installed"
PYTHON, PASS = "python", (sys.executable, "-c", "pass")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_THERE


def _python(program: str) -> Sequence[str]:
    return (sys.executable, "-c", WITHOUT_PANDAS + program)


def _script(name: str, *words: str) -> Sequence[str]:
    """A command of the environment that runs this."""
    return (str(Path(sys.executable).with_name(name)), *words)


def _print_row(*cells: str) -> None:
    told = [cells[0].ljust(WIDTHS[0])] + [cell.rjust(width) for cell, width in zip(cells[1:], WIDTHS[1:], strict=True)]
    print("  ".join(told).rstrip(), flush=True)


def _some_works(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(WORKS):
        raise argparse.ArgumentTypeError(f"known are {', '.join(WORKS)}")
    return names


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=_some_works, default=list(WORKS), help=f"some of {', '.join(WORKS)}")
    parser.add_argument("--runs", type=int, default=15, help="timed runs per figure; the median is printed")
    parser.add_argument("--files", type=int, default=1_000, help="of the tables that are looked at")
    parser.add_argument("--newcomer", action="store_true", help="also the way from a clone to the first commit")
    parser.add_argument("--python", default=sys._base_executable, help="what a newcomer's environment is made with")  # type: ignore[attr-defined]
    return parser.parse_args()


if __name__ == "__main__":
    main()
