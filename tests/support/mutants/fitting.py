"""Mutants of what may go into a table: whether files fit its columns, and what their rows count as."""

from support.mutants.mutant import LOG, NONE, Mutant, Rule

_DECIDE = "table/headgate_table/indextables/decide.py"
_PARTITIONS = "tests/table/test_partition_fit.py"

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
    Mutant(
        "any-text-is-a-partition-value",
        Rule.FITTING,
        "Texts that are no values of their column's type become partition values.",
        "schemas/headgate_schemas/partition_values.py",
        "    if _fits(stored, wanted.type_name):\n",
        "    if wanted.type_name:\n",
        (_PARTITIONS,),
        NONE,
    ),
    Mutant(
        "partition-value-beyond-the-width",
        Rule.FITTING,
        "Every 64-bit number is a value of every integer type.",
        "schemas/headgate_schemas/partition_values.py",
        "            limit = 1 << (_BITS.get(type_name, 64) - 1)\n",
        "            limit = 1 << 63\n",
        (f"{_PARTITIONS}::test_what_is_taken_can_be_read_and_what_is_refused_could_not",),
        NONE,
    ),
    Mutant(
        "null-partition-of-not-null",
        Rule.FITTING,
        "A null is a value of a partition column that is NOT NULL.",
        "schemas/headgate_schemas/partition_values.py",
        "        if wanted.nullable:\n",
        "        if wanted.column:\n",
        (f"{_PARTITIONS}::test_what_is_taken_can_be_read_and_what_is_refused_could_not",),
        NONE,
    ),
    Mutant(
        "overwrite-takes-any-partition-value",
        Rule.FITTING,
        "An overwrite doesn't look at the partition values of its files.",
        _DECIDE,
        "    _check_partition_values(operation.files, metadata)\n    return Effect(removes",
        "    return Effect(removes",
        (_PARTITIONS,),
        NONE,
    ),
)
