"""Mutants of what rows are read by whom, that histories of random rows notice."""

from support.mutants.mutant import NONE, Mutant, Rule

MUTANTS = (
    Mutant(
        "odd-days-are-times",
        Rule.VALUES,
        "Bounds of a date column that lie outside of the years from 1 to 9999 are taken for times, and files are skipped by them.",
        "table/headgate_table/indextables/column_statistics.py",
        "        unusual: list[Interval] = [days] if first in _DAYS_OF_FILES and last in _DAYS_OF_FILES else []\n",
        "        unusual: list[Interval] = []\n",
        ("tests/table/pruning/test_column_statistics.py",),
        NONE,
    ),
    Mutant(
        "partitions-differ-by-spelling",
        Rule.VALUES,
        "A rewrite from partition 7 into partition 0007 is refused.",
        "table/headgate_table/indextables/decide.py",
        "    value = stored_value(stored, kind)\n    if value is None:\n        return stored  #",
        "    value = stored_value(stored, kind)\n    if True:\n        return stored  #",
        ("tests/table/commit/test_decide.py",),
        NONE,
    ),
    Mutant(
        "dry-run-forgets-nothing-of-a-committer",
        Rule.CLEANING,
        "The dry run of a truncation takes no account of the state that a truncation writes first.",
        "table/headgate_table/indextables/truncate.py",
        "will_remember=is_written)",
        "will_remember=False)",
        ("tests/table/test_truncate.py",),
        NONE,
    ),
    Mutant(
        "verify-calls-a-late-version-lost",
        Rule.STATES,
        "Verify tells of a lost commit where a version came late and was committed anew.",
        "table/headgate_table/indextables/verify_states.py",
        "                lost.missing -= paths\n",
        "                pass\n",
        ("tests/table/test_verify.py",),
        NONE,
    ),
    Mutant(
        "zeros-of-either-sign-are-one-partition",
        Rule.VALUES,
        "A rewrite may move rows from partition -0.0 to 0.0.",
        "table/headgate_table/indextables/decide.py",
        '    return (value, stored.startswith("-")) if kind is ColumnKind.FLOATING else value\n',
        "    return value\n",
        ("tests/table/commit/test_decide.py",),
        NONE,
    ),
)
