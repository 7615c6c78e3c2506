"""The judge of a table that is kept up under fire: it finds each promise that is broken, and nothing where all are kept."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from support.torture.judge.evidence import Asked
from support.torture.judge.journal import Diary
from support.torture.judge.upkeep_verdict import ExpectedRows, Row, Upkeep, judge_upkeep

OLD_ROWS: list[Row] = [(1, "one", "a")]
FIRST_ROWS: list[Row] = [(2, "two", "o")]
LAST_ROWS: list[Row] = [(3, "three", "o")]


def asked(offset: int, identity: str, kind: str, seq: int | None = None) -> Asked:
    writer = {} if seq is None else {"writer": {"app": "job", "seq": seq}}
    return Asked(0, offset, identity, {"id": identity, "operation": {"type": kind}} | writer)


def decision(offset: int, identity: str, code: str | None = None) -> dict[str, Any]:
    return {"id": identity, "offset": offset, "accepted": code is None} | ({} if code is None else {"code": code})


def version(*actions: Mapping[str, Any], decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*map(dict, actions), {"commitInfo": {"committer": {"id": "c", "epoch": 1}, "decisions": decisions}}]


def add(path: str) -> dict[str, Any]:
    return {"add": {"path": path}}


def remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path}}


def good() -> Upkeep:
    """An append with a seq that is sent again, two overwrites, a merge, and one that came too late."""
    return Upkeep(
        asked=[
            asked(0, "p0", "append", seq=1),
            asked(1, "p1", "overwrite"),
            asked(2, "p0-again", "append", seq=1),
            asked(3, "p3", "rewrite"),
            asked(4, "p4", "overwrite"),
            asked(5, "p5", "rewrite"),
        ],
        receipts={
            "p0": [("committed", 1)],
            "p1": [("committed", 1)],
            "p0-again": [("duplicate", 1)],
            "p3": [("committed", 2)],
            "p4": [("committed", 3), ("duplicate", 3)],
            "p5": [("rejected", "source_gone")],
        },
        commits={1: [{"version": 1}], 2: [{"version": 2}], 3: [{"version": 3}]},
        versions={
            0: [{"metaData": {}}],
            1: version(add("x"), add("y"), decisions=[decision(0, "p0"), decision(1, "p1")]),
            2: version(remove("x"), add("merged"), decisions=[decision(3, "p3")]),
            3: version(remove("y"), add("z"), decisions=[decision(4, "p4"), decision(5, "p5", "source_gone")]),
        },
        left=[1, 2, 3],
        diaries=[Diary({"p0": 0, "p0-again": 0}, {"p0": [("committed", 1)], "p0-again": [("duplicate", 1)]})],
        rows={2: OLD_ROWS + FIRST_ROWS, 3: OLD_ROWS + LAST_ROWS},
        expected=ExpectedRows({"p0": OLD_ROWS, "p0-again": OLD_ROWS}, {"p1": FIRST_ROWS, "p4": LAST_ROWS}),
    )


def test_a_good_run_has_no_problems() -> None:
    assert judge_upkeep(good()) == []


def lose_a_row(evidence: Upkeep) -> None:
    evidence.rows = {3: LAST_ROWS}


def read_a_row_twice(evidence: Upkeep) -> None:
    evidence.rows = {3: OLD_ROWS * 2 + LAST_ROWS}


def read_what_was_overwritten(evidence: Upkeep) -> None:
    evidence.rows = {3: OLD_ROWS + FIRST_ROWS + LAST_ROWS}


def read_the_present_in_the_past(evidence: Upkeep) -> None:
    evidence.rows = {2: OLD_ROWS + LAST_ROWS}


def mix_up_a_row(evidence: Upkeep) -> None:
    evidence.rows = {3: [(1, "three", "a"), *LAST_ROWS]}


def reject_an_append(evidence: Upkeep) -> None:
    evidence.versions[1][-1]["commitInfo"]["decisions"][0] = decision(0, "p0", "path_in_use")


def refuse_a_merge_for_its_counts(evidence: Upkeep) -> None:
    evidence.versions[3][-1]["commitInfo"]["decisions"][1]["code"] = "records_differ"


def tell_a_writer_that_it_was_rejected(evidence: Upkeep) -> None:
    evidence.diaries[0].receipts["p0"].append(("rejected", "expired"))


def never_answer(evidence: Upkeep) -> None:
    evidence.diaries[0].intents["p9"] = 9


def never_tell(evidence: Upkeep) -> None:
    del evidence.receipts["p1"]


def tell_another_version(evidence: Upkeep) -> None:
    evidence.receipts["p3"] = [("committed", 3)]


def decide_twice(evidence: Upkeep) -> None:
    evidence.versions[3][-1]["commitInfo"]["decisions"].append(decision(6, "p3"))


def decide_a_repeated_seq(evidence: Upkeep) -> None:
    evidence.versions[3][-1]["commitInfo"]["decisions"].append(decision(6, "p0-again"))


def never_decide(evidence: Upkeep) -> None:
    del evidence.versions[3][-1]["commitInfo"]["decisions"][1]


def bring_a_file_back(evidence: Upkeep) -> None:
    evidence.versions[3].insert(0, add("x"))


def remove_what_is_not_live(evidence: Upkeep) -> None:
    evidence.versions[3].insert(0, remove("x"))


def skip_a_number(evidence: Upkeep) -> None:
    evidence.versions = {0: evidence.versions[0], 1: evidence.versions[1], 3: evidence.versions[3]}


def clean_a_version_in_between(evidence: Upkeep) -> None:
    evidence.left = [1, 3]


def announce_nothing(evidence: Upkeep) -> None:
    evidence.commits = {}


def delete_a_named_file(evidence: Upkeep) -> None:
    evidence.lost.append("version 2 names merged, which is gone")


def leave_an_orphan(evidence: Upkeep) -> None:
    evidence.unnamed.add("part=a/orphan.parquet")


def find_damage(evidence: Upkeep) -> None:
    evidence.other_problems.append("verify finds: a state differs")


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        (lose_a_row, "at version 3, 1 rows are missing"),
        (read_a_row_twice, "at version 3, 1 rows are read too often"),
        (read_what_was_overwritten, "at version 3, 1 rows are read too often"),
        (read_the_present_in_the_past, "at version 2, 1 rows are missing"),
        (mix_up_a_row, "at version 3, 1 rows are missing"),
        (reject_an_append, "rejects append p0: path_in_use"),
        (refuse_a_merge_for_its_counts, "rejects rewrite p5: records_differ"),
        (tell_a_writer_that_it_was_rejected, "1 proposals of writers were rejected"),
        (never_answer, "1 proposals were never answered"),
        (never_tell, "p1 was told nothing"),
        (tell_another_version, "p3 was told"),
        (decide_twice, "p3 is decided twice"),
        (decide_a_repeated_seq, "p0-again, which repeats the seq of p0"),
        (never_decide, "p5 was never decided"),
        (bring_a_file_back, "version 3 adds what was added before"),
        (remove_what_is_not_live, "version 3 removes what isn't live"),
        (skip_a_number, "versions never were: 2"),
        (clean_a_version_in_between, "missing among those that are left: 2"),
        (announce_nothing, "never announced"),
        (delete_a_named_file, "which is gone"),
        (leave_an_orphan, "never cleaned"),
        (find_damage, "a state differs"),
    ],
)
def test_a_broken_promise_is_found(breaks: Callable[[Upkeep], None], told: str) -> None:
    evidence = good()
    breaks(evidence)
    assert any(told in problem for problem in judge_upkeep(evidence))
