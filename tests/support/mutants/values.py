"""Mutants of what values mean: odd numbers, texts and dates, in predicates, bounds and partitions."""

from support.mutants.mutant import NONE, Mutant, Rule

_STATISTICS = "table/headgate_table/indextables/column_statistics.py"
_MANIFESTS = "table/headgate_table/indextables/manifest_pruning.py"

MUTANTS = (
    Mutant(
        "nan-prunes-files-as-zero",
        Rule.VALUES,
        "A file is skipped for a literal NaN as if the literal were 0.",
        _STATISTICS,
        "    if is_nan(value):\n        # Bounds",
        "    if False:\n        # Bounds",
        ("tests/table/pruning/test_column_statistics.py",),
        NONE,
    ),
    Mutant(
        "nan-prunes-manifests-as-zero",
        Rule.VALUES,
        "A manifest is skipped for a literal NaN as if the literal were 0.",
        _MANIFESTS,
        "    if is_nan(value):\n",
        "    if False:\n",
        ("tests/table/pruning/test_manifest_pruning.py",),
        NONE,
    ),
)
