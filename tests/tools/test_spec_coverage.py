"""Tests of the spec coverage itself, and of the claims that it accepts."""

import tomllib
from pathlib import Path

from tooling.pages.spec_coverage import SUITE, Row, matrix, problems, read_claims, read_rows, sums

CLAIMED_AT_FIRST = {
    "testFileEntryKryoSerialization",
    "testFileEntryJavaSerialization",
    "testStateSnapshotSerialization",
    "testDistributedStateRead",
    "testDistributedCompaction",
    "testReadWithSparkDataSource",
    "testWriteWithSparkDataSource",
}

ROWS = (
    Row("1 reading", "testA", "reads a"),
    Row("1 reading", "testB", "reads b"),
    Row("2 writing", "testC", "writes c"),
)


def test_the_plan_has_144_rows_of_different_names() -> None:
    assert len({row.name for row in read_rows()}) == len(read_rows()) == 144


def test_every_row_says_what_it_means() -> None:
    assert [row.name for row in read_rows() if not row.meaning or not row.section] == []


def test_the_claims_only_shrink() -> None:
    assert set(read_claims()) - CLAIMED_AT_FIRST == set()


def test_no_row_is_claimed_twice() -> None:
    assert len(set(read_claims())) == len(read_claims())


def test_rows_that_are_tested_or_claimed_are_no_problem() -> None:
    assert problems(ROWS, ["testC"], {"testA": ["t::a"], "testB": ["t::b"]}) == []


def test_a_row_without_test_or_claim_is_a_problem() -> None:
    assert problems(ROWS, ["testC"], {"testA": ["t::a"]}) == ["testB: no test has this meaning"]


def test_a_marker_of_an_unknown_name_is_a_problem() -> None:
    tests = {"testA": ["t::a"], "testB": ["t::b"], "testC": ["t::c"], "testD": ["t::d"]}
    assert problems(ROWS, [], tests) == ["testD: named by t::d, but the plan has no such row"]


def test_a_claim_of_an_unknown_name_is_a_problem() -> None:
    tests = {"testA": ["t::a"], "testB": ["t::b"], "testC": ["t::c"]}
    assert problems(ROWS, ["testD"], tests) == ["testD: claimed, but the plan has no such row"]


def test_a_claim_of_a_tested_row_is_a_problem() -> None:
    tests = {"testA": ["t::a"], "testB": ["t::b"], "testC": ["t::c"]}
    assert problems(ROWS, ["testC"], tests) == ["testC: has a test, so its claim must go"]


def test_the_matrix_shows_every_test_claim_and_gap() -> None:
    lines = list(matrix(ROWS, ["testC"], {"testA": ["t::a", "t::a2"]}))
    assert [line.split() for line in lines if not line.startswith("\n")] == [
        ["testA", "t::a"],
        ["t::a2"],
        ["testB", "MISSING"],
        ["testC", "claimed", "by", "later", "work"],
    ]


def test_the_sums_count_a_tested_claim_once() -> None:
    assert sums(ROWS, ["testA"], {"testA": ["t::a"]}) == "test plan: 3 rows, 1 tested, 0 claimed, 2 missing"


def test_the_tool_collects_the_folder_that_pytest_collects() -> None:
    root = Path(__file__).resolve().parents[2]
    configured = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert [root / folder for folder in configured["testpaths"]] == [SUITE]
