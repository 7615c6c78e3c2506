"""Mutants of what values mean: odd numbers, texts and dates, in predicates, bounds and partitions."""

from support.mutants.mutant import NONE, Mutant, Rule

_STATISTICS = "table/headgate_table/indextables/column_statistics.py"
_MANIFESTS = "table/headgate_table/indextables/manifest_pruning.py"
_PARTITIONS = "schemas/headgate_schemas/partition_text.py"
_TEXTS = "tests/committer/test_odd_partition_texts.py"
_ROW_CONDITIONS = "front/headgate/spark/row_conditions.py"
_ON_SPARK = "tests/spark/test_spark_read_odd_values.py"
_FLOATS = "tests/table/test_float_statistics.py"

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
    Mutant(
        "escaped-text-matches-literally",
        Rule.VALUES,
        "A condition is also true for a text that only looks like the one that it names, escapes and all.",
        _PARTITIONS,
        "        return value is not None and holds(sign(value, wanted))\n",
        "        return value is not None and (holds(0) if stored == wanted else holds(sign(value, wanted)))\n",
        ("tests/schemas/test_predicate_partition_text.py", "tests/table/pruning/test_pruning_properties.py"),
        NONE,
    ),
    Mutant(
        "percent-signs-stored-as-given",
        Rule.VALUES,
        "A file's partition text is stored as it is given, whatever readers take it for.",
        "table/headgate_table/data_file.py",
        "            texts = {key: stored_text(text) for key, text in texts.items()}\n",
        "            pass\n",
        (_TEXTS,),
        NONE,
    ),
    Mutant(
        "merged-values-stored-again",
        Rule.VALUES,
        "A merged file's stored partition values are taken for plain ones.",
        "worker/headgate_worker/merge/arrow_engine.py",
        "partition_values=StoredTexts(order.partition_values),",
        "partition_values=dict(order.partition_values),",
        (f"{_TEXTS}::test_a_merge_keeps_every_value_and_mixes_none",),
        NONE,
    ),
    Mutant(
        "old-dates-through-the-older-calendar",
        Rule.VALUES,
        "A date in a condition for Spark goes through Java's older calendar.",
        _ROW_CONDITIONS,
        "        return functions.date_from_unix_date(functions.lit(scalar.value))\n",
        "        return functions.lit(scalar.as_py())\n",
        (f"{_ON_SPARK}::test_a_where_finds_what_a_scan_finds",),
        NONE,
    ),
    Mutant(
        "days-that-java-lacks-are-pushed",
        Rule.VALUES,
        "Spark leaves out row groups by a day of October 1582 that Java's older calendar doesn't have.",
        _ROW_CONDITIONS,
        "any(scalar.value in _NO_DAYS for scalar in scalars)",
        "False",
        (f"{_ON_SPARK}::test_a_where_finds_what_a_scan_finds",),
        NONE,
    ),
    Mutant(
        "spark-skips-row-groups-with-nan",
        Rule.VALUES,
        "Spark pushes filters on floating point columns into files whose statistics leave NaN out.",
        "front/headgate/spark/reading.py",
        "    found = without_pushing_floats(found, schema)\n",
        "",
        (f"{_ON_SPARK}::test_a_filter_of_spark_finds_every_nan",),
        NONE,
    ),
    Mutant(
        "merged-statistics-hide-nan",
        Rule.VALUES,
        "A merged file has statistics of a column whose first row group holds NaN.",
        "worker/headgate_worker/merge/arrow_engine.py",
        "                    without |= with_nan(group)\n                options",
        "                    without |= frozenset()\n                options",
        (_FLOATS,),
        NONE,
    ),
    Mutant(
        "late-nan-in-merged-statistics",
        Rule.VALUES,
        "A merged file has statistics of a column that holds NaN in a later row group.",
        "worker/headgate_worker/merge/arrow_engine.py",
        "                        if not with_nan(group) <= without:\n",
        "                        if False:\n",
        (_FLOATS,),
        NONE,
    ),
    Mutant(
        "spark-parts-hide-nan",
        Rule.VALUES,
        "Files of Spark's sink have statistics of columns with NaN.",
        "producer/pyspark_headgate/parquet_parts.py",
        "        found = with_nan(rows)\n",
        "        found: frozenset[int] = frozenset()\n",
        ("tests/spark/test_spark_write_parts.py::test_a_file_ends_where_nan_comes_in_a_column_that_has_statistics",),
        NONE,
    ),
    Mutant(
        "upper-bounds-that-nan-exceeds",
        Rule.VALUES,
        "A file whose writer leaves NaN out of statistics has an upper bound in the log.",
        "table/headgate_table/parquet_bounds.py",
        "    may_hide_nan = not _tells_of_nan(footer)\n",
        "    may_hide_nan = False\n",
        ("tests/table/test_data_file.py",),
        NONE,
    ),
)
