"""Which test stands for which row of the Avro state test plan: collects the `spec` markers and prints the matrix.

Fails when a row has neither a test nor a claim, a marker names no row, or a claim is out of date.
"""

import argparse
import contextlib
import csv
import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SUITE = HERE.parents[1]
"""The folder of all tests."""
NAMES_FILE = HERE / "spec_names.tsv"
CLAIMS_FILE = HERE / "spec_claims.txt"
"""Rows that later work has claimed: one name a line. The file only shrinks."""

Tests = Mapping[str, Sequence[str]]
"""Ids of tests by the name of the row that they stand for."""


@dataclass(frozen=True, slots=True)
class Row:
    section: str
    name: str
    meaning: str


class CollectionFailed(Exception):
    """pytest could not collect the suite; the message is what it printed."""


def read_rows(path: Path = NAMES_FILE) -> tuple[Row, ...]:
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(Row(**row) for row in csv.DictReader(lines, delimiter="\t"))


def read_claims(path: Path = CLAIMS_FILE) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8").split())


def problems(rows: Sequence[Row], claims: Sequence[str], tests: Tests) -> list[str]:
    """What is wrong, one line each; empty when every row is accounted for."""
    known = {row.name for row in rows}
    found = [f"{row.name}: no test has this meaning" for row in rows if row.name not in {*tests, *claims}]
    found += [
        f"{name}: named by {ids[0]}, but the plan has no such row" for name, ids in tests.items() if name not in known
    ]
    found += [f"{name}: claimed, but the plan has no such row" for name in claims if name not in known]
    found += [f"{name}: has a test, so its claim must go" for name in claims if name in tests]
    return found


def matrix(rows: Sequence[Row], claims: Sequence[str], tests: Tests) -> Iterator[str]:
    """The lines of the matrix, by section, then a line of sums."""
    section = ""
    for row in rows:
        if row.section != section:
            section = row.section
            yield f"\n{section}"
        first, *rest = tests.get(row.name) or ["claimed by later work" if row.name in claims else "MISSING"]
        yield f"  {row.name:<38} {first}"
        yield from (f"  {'':<38} {test}" for test in rest)
    yield f"\n{sums(rows, claims, tests)}"


def sums(rows: Sequence[Row], claims: Sequence[str], tests: Tests) -> str:
    tested = sum(row.name in tests for row in rows)
    claimed = sum(row.name in claims and row.name not in tests for row in rows)
    return f"test plan: {len(rows)} rows, {tested} tested, {claimed} claimed, {len(rows) - tested - claimed} missing"


@dataclass(slots=True, eq=False)
class SpecMarkers:
    """A pytest plugin that notes the marker of every collected test, selected or not."""

    tests: dict[str, list[str]] = field(default_factory=dict)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        without_parameters = re.sub(r"\[.*\]$", "", item.nodeid, flags=re.DOTALL)
        for marker in item.iter_markers("spec"):
            for name in marker.args:
                ids = self.tests.setdefault(name, [])
                if without_parameters not in ids:
                    ids.append(without_parameters)


def collect(folder: Path) -> Tests:
    """The markers of the suite in this folder, found by pytest itself."""
    markers = SpecMarkers()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = pytest.main(["--collect-only", "--quiet", "-p", "no:cacheprovider", str(folder)], plugins=[markers])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise CollectionFailed(printed.getvalue())
    return markers.tests


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The coverage of the Avro state test plan.")
    parser.add_argument("--brief", action="store_true", help="sums and problems only")
    options = parser.parse_args(arguments)
    rows, claims = read_rows(), read_claims()
    try:
        tests = collect(SUITE)
    except CollectionFailed as failure:
        print(failure, file=sys.stderr)
        return 2
    print(sums(rows, claims, tests) if options.brief else "\n".join(matrix(rows, claims, tests)))
    wrong = problems(rows, claims, tests)
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
