"""Mutants of what must agree: the receipts of one id, a committer with its table, all readings of one log, a file with its rows."""

from support.mutants.mutant import LOG, NONE, Mutant, Rule

_MEMORY = "table/headgate_table/coordination/memory.py"
_MEMORY_TESTS = "tests/table/coordination/test_table_memory.py"
_VERSIONS = "committer/headgate_committer/versions/version_log.py"
_LATE = "tests/table/coordination/test_late_versions.py"
_IDS = "tests/simulation/rules/test_rule_05_horizon.py"

MUTANTS = (
    Mutant(
        "writers-are-known-by-seq-alone",
        Rule.HORIZON,
        "An id that was committed with a writer is decided again without it, or with another one.",
        _MEMORY,
        "(self.ids.version_of(identity), self.writers_ids.version_of(identity))",
        "(self.ids.version_of(identity),)",
        (_MEMORY_TESTS, _IDS, "tests/table/coordination/test_memory_model.py"),
        LOG,
    ),
    Mutant(
        "a-writer-makes-an-id-new",
        Rule.HORIZON,
        "An id that was committed is decided again where it comes with a writer whose seq is new.",
        _MEMORY,
        "        if version is not None:\n            return Duplicate(version, proposal_id)\n        return None if writer",
        "        if version is not None and writer is None:\n            return Duplicate(version, proposal_id)\n        return None if writer",
        (_MEMORY_TESTS, _IDS, "tests/table/coordination/test_memory_model.py"),
        LOG,
    ),
    Mutant(
        "an-id-is-anybody-s",
        Rule.RECEIPTS,
        "Who asks for a proposal by id and writer is told what another writer did under that id.",
        "table/headgate_table/indextables/recovery/decisions.py",
        "        if decision.id == proposal_id and writer in (None, decision.writer):\n",
        "        if decision.id == proposal_id:\n",
        ("tests/table/coordination/test_find_decision.py",),
        NONE,
    ),
    Mutant(
        "a-committer-believes-its-memory",
        Rule.PREDECESSOR,
        "A committer looks whether the version before its own is there only after it has written.",
        _VERSIONS,
        "        if seen is None or (known is not None",
        "        if False or (known is not None",
        ("tests/committer/table/test_older_copies.py",),
        NONE,
    ),
    Mutant(
        "a-table-that-went-back-goes-on",
        Rule.PREDECESSOR,
        "A committer goes on at version 3 where version 5 was told and an older copy of the table was put back.",
        _VERSIONS,
        "held.log.version >= self._reached[1]:",
        "held.log.version >= 0:",
        ("tests/committer/table/test_older_copies.py",),
        NONE,
    ),
    Mutant(
        "changes-believe-late-versions",
        Rule.PREDECESSOR,
        "Changes hold the files of a version that came late, which no snapshot has.",
        "table/headgate_table/indextables/history/changes.py",
        "    if told is False:\n        raise _CameLate\n",
        "",
        (_LATE,),
        NONE,
    ),
    Mutant(
        "history-believes-late-versions",
        Rule.PREDECESSOR,
        "The history shows a version that came late.",
        "table/headgate_table/indextables/history/history.py",
        "                told.pop(number, None)",
        "                told.get(number, None)",
        (_LATE,),
        NONE,
    ),
    Mutant(
        "nanoseconds-are-welcome",
        Rule.FITTING,
        "A file whose footer shows times finer than a microsecond is taken, and then every scan fails.",
        "table/headgate_table/parquet/fine_times.py",
        "column.meaning is Meaning.NANOS and value % 1000",
        "column.meaning is Meaning.NANOS and value % 1",
        ("tests/table/parquet/test_fine_times.py",),
        NONE,
    ),
    Mutant(
        "a-zero-loses-its-sign",
        Rule.VALUES,
        "A partition -0.0 that Spark writes through Python is read as 0.0.",
        "producer/pyspark_headgate/executor/partition_split.py",
        '"-0": "-0.0"}',
        '"-0": "0"}',
        ("tests/spark/write/test_spark_write_parts.py",),
        NONE,
    ),
)
