"""A short run of the fuzzer; `make fuzz` runs a long one."""

from support.milvus.fuzz import run


def test_a_few_thousand_mutated_files_are_read_or_refused_cleanly() -> None:
    tally = run(4_000, seed=7)
    assert tally.problems == []
    assert set(tally.outcomes) >= {"CorruptTable", "UnsupportedTable", "read and written", "read, never to be written"}
