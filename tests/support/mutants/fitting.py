"""Mutants of what may go into a table: whether files fit its columns, and what their rows count as."""

from support.mutants.mutant import LOG, Mutant, Rule

_DECIDE = "table/headgate_table/indextables/decide.py"

MUTANTS = (
    Mutant(
        "restored-rows-are-no-change",
        Rule.DECISIONS,
        "A merged file that a restore brings back counts as no change of data, as when it was merged.",
        _DECIDE,
        "replace(file, data_change=True) for path, file in evidence.restored.items()",
        "file for path, file in evidence.restored.items()",
        ("tests/table/test_restored_rows.py",),
        LOG,
    ),
)
