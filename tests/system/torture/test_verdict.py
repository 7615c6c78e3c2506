"""The judge of the torture: it finds each promise that is broken, and nothing where all are kept."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from support.torture.judge.evidence import Asked, Evidence
from support.torture.judge.journal import Diary
from support.torture.judge.verdict import judge

TABLE = "lake/events"


def file(path: str, part: str = "a") -> dict[str, Any]:
    return {"path": path, "partitionValues": {"part": part}}


def asked(offset: int, identity: str, operation: Mapping[str, Any], seq: int | None = None) -> Asked:
    writer = {} if seq is None else {"writer": {"app": "job", "seq": seq}}
    return Asked(0, offset, identity, {"id": identity, "operation": operation} | writer)


def decision(offset: int, identity: str, code: str | None = None) -> dict[str, Any]:
    return {"id": identity, "offset": offset, "accepted": code is None} | ({} if code is None else {"code": code})


def version(*actions: dict[str, Any], decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*actions, {"commitInfo": {"committer": {"id": "c", "epoch": 1}, "decisions": decisions}}]


def add(path: str) -> dict[str, Any]:
    return {"add": file(path)}


def remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path}}


def good() -> Evidence:
    """An append, one with a seq, a refused delete, an overwrite, and repetitions of an id and of a seq."""
    return Evidence(
        asked={
            TABLE: [
                asked(0, "p0", {"type": "append", "files": [file("x")]}),
                asked(1, "p1", {"type": "append", "files": [file("y", "b")]}, seq=1),
                asked(2, "p2", {"type": "delete", "paths": ["never"]}),
                asked(3, "p0", {"type": "append", "files": [file("x")]}),
                asked(4, "p4", {"type": "overwrite", "where": "part = 'a'", "files": [file("z")]}),
                asked(5, "p5", {"type": "append", "files": [file("w")]}, seq=1),
            ]
        },
        receipts={
            "p0": [("committed", 1), ("duplicate", 1)],
            "p1": [("committed", 1)],
            "p2": [("rejected", "not_live")],
            "p4": [("committed", 2)],
            "p5": [("duplicate", 1)],
        },
        commits={TABLE: {1: [{"version": 1}], 2: [{"version": 2}, {"version": 2}]}},
        versions={
            TABLE: {
                0: [{"metaData": {}}],
                1: version(
                    add("x"),
                    add("y"),
                    decisions=[decision(0, "p0"), decision(1, "p1"), decision(2, "p2", "not_live")],
                ),
                2: version(remove("x"), add("z"), decisions=[decision(4, "p4")]),
            }
        },
        changed_files=[],
        diaries=[Diary({"p0": 0, "p1": 1}, {"p0": [("committed", 1)], "p1": [("committed", 1)]})],
        live={TABLE: {"y", "z"}},
        verified={TABLE: []},
    )


def test_a_good_run_has_no_problems() -> None:
    assert judge(good()) == []


def lose_an_accepted_file(evidence: Evidence) -> None:
    del evidence.versions[TABLE][1][1]
    evidence.live[TABLE].discard("y")


def add_a_file_twice(evidence: Evidence) -> None:
    evidence.versions[TABLE][2].insert(0, add("y"))


def add_what_was_rejected(evidence: Evidence) -> None:
    evidence.versions[TABLE][2].insert(0, add("w"))


def leave_a_gap(evidence: Evidence) -> None:
    evidence.versions[TABLE][3] = evidence.versions[TABLE].pop(2)


def decide_in_another_order(evidence: Evidence) -> None:
    versions = evidence.versions[TABLE]
    versions[1], versions[2] = versions[2], versions[1]


def decide_twice(evidence: Evidence) -> None:
    evidence.versions[TABLE][2][-1]["commitInfo"]["decisions"].append(decision(5, "p0"))


def decide_a_repeated_seq(evidence: Evidence) -> None:
    evidence.versions[TABLE][2][-1]["commitInfo"]["decisions"].append(decision(5, "p5"))


def reject_for_another_reason(evidence: Evidence) -> None:
    evidence.versions[TABLE][1][-1]["commitInfo"]["decisions"][2]["code"] = "path_in_use"


def never_decide(evidence: Evidence) -> None:
    evidence.versions[TABLE][1][-1]["commitInfo"]["decisions"].pop()


def tell_another_version(evidence: Evidence) -> None:
    evidence.receipts["p1"].append(("committed", 2))


def call_a_repetition_committed(evidence: Evidence) -> None:
    evidence.receipts["p5"] = [("committed", 1)]


def tell_a_producer_something_else(evidence: Evidence) -> None:
    evidence.diaries[0].receipts["p1"].append(("rejected", "not_live"))


def never_tell(evidence: Evidence) -> None:
    del evidence.receipts["p2"]


def leave_a_producer_waiting(evidence: Evidence) -> None:
    evidence.diaries[0].intents["p9"] = 9


def change_a_file(evidence: Evidence) -> None:
    evidence.changed_files.append("00000000000000000001.json")


def read_other_files(evidence: Evidence) -> None:
    evidence.live[TABLE].add("x")


def find_faults(evidence: Evidence) -> None:
    evidence.verified[TABLE].append("a state differs")


def never_announce(evidence: Evidence) -> None:
    del evidence.commits[TABLE][2]


def announce_differently(evidence: Evidence) -> None:
    evidence.commits[TABLE][2][1] = {"version": 2, "added": 7}


def announce_what_is_not_there(evidence: Evidence) -> None:
    evidence.commits[TABLE][3] = [{"version": 3}]


def set_aside(evidence: Evidence) -> None:
    evidence.dead_letters = 1


def leave_unsettled(evidence: Evidence) -> None:
    evidence.unsettled.append("partition 0")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lose_an_accepted_file, "doesn't add what it accepts"),
        (add_a_file_twice, "again by"),
        (add_what_was_rejected, "doesn't add what it accepts"),
        (leave_a_gap, "versions are missing: [2]"),
        (decide_in_another_order, "not the bus's order"),
        (decide_twice, "is decided twice"),
        (decide_a_repeated_seq, "which repeats a seq"),
        (reject_for_another_reason, "and not as"),
        (never_decide, "never decided"),
        (tell_another_version, "p1 was told"),
        (call_a_repetition_committed, "p5 was told"),
        (tell_a_producer_something_else, "p1 was told"),
        (never_tell, "have no receipt"),
        (leave_a_producer_waiting, "never answered"),
        (change_a_file, "changed after it was seen"),
        (read_other_files, "read otherwise"),
        (find_faults, "verify finds"),
        (never_announce, "never announced"),
        (announce_differently, "announcements of version 2 differ"),
        (announce_what_is_not_there, "that aren't there"),
        (set_aside, "dead letters"),
        (leave_unsettled, "not settled"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_promise_is_found(spoil: Callable[[Evidence], None], said: str) -> None:
    evidence = good()
    spoil(evidence)
    assert any(said in problem for problem in judge(evidence)), judge(evidence)
