"""Every form of an operator statement, in every spelling that is allowed, becomes the value it stands for."""

import pytest

from headgate.statements import (
    Checkpoint,
    Compact,
    DescribeLog,
    DescribeState,
    DropPartitions,
    InvalidateCache,
    MergeSplits,
    PurgeStatement,
    RepairLog,
    TableName,
    TablePath,
    TruncateTimeTravel,
    is_operator_statement,
    parse_statement,
)

PATH = TablePath("s3://lake/events")
NAME = TableName(("db", "events"))


@pytest.mark.spec("testCheckpointSqlParsing")
@pytest.mark.parametrize("engine", ["INDEXTABLES", "TANTIVY4SPARK", "HEADGATE"])
@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("'s3://lake/events'", PATH),
        ('"s3://lake/events"', PATH),
        ("db.events", NAME),
        ("`db`.`events`", NAME),
        ("events", TableName(("events",))),
        ("catalog.db.events", TableName(("catalog", "db", "events"))),
    ],
)
def test_checkpoint_takes_every_engine_word_and_every_kind_of_target(
    engine: str, written: str, target: TablePath | TableName
) -> None:
    assert parse_statement(f"CHECKPOINT {engine} {written}") == Checkpoint(target)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("COMPACT INDEXTABLES 's3://lake/events'", Compact(PATH)),
        ("DESCRIBE INDEXTABLES STATE 's3://lake/events'", DescribeState(PATH)),
        ("DESCRIBE TANTIVY4SPARK TRANSACTION LOG db.events", DescribeLog(NAME)),
        ("DESCRIBE HEADGATE TRANSACTION LOG db.events INCLUDE ALL", DescribeLog(NAME, include_all=True)),
        ("PURGE INDEXTABLE db.events", PurgeStatement(NAME)),
        ("PURGE HEADGATE db.events", PurgeStatement(NAME)),
        ("PURGE INDEXTABLE db.events OLDER THAN 7 DAYS", PurgeStatement(NAME, older_than_hours=168)),
        ("PURGE INDEXTABLE db.events OLDER THAN 36 HOURS", PurgeStatement(NAME, older_than_hours=36)),
        ("PURGE INDEXTABLE db.events TRANSACTION LOG RETENTION 30 DAYS", PurgeStatement(NAME, log_retention_hours=720)),
        ("PURGE INDEXTABLE db.events DRY RUN", PurgeStatement(NAME, dry_run=True)),
        (
            "PURGE INDEXTABLE 's3://lake/events' OLDER THAN 7 DAYS TRANSACTION LOG RETENTION 48 HOURS DRY RUN",
            PurgeStatement(PATH, older_than_hours=168, log_retention_hours=48, dry_run=True),
        ),
        ("TRUNCATE INDEXTABLES TIME TRAVEL db.events", TruncateTimeTravel(NAME)),
        ("TRUNCATE INDEXTABLES TIME TRAVEL 's3://lake/events' DRY RUN", TruncateTimeTravel(PATH, dry_run=True)),
        (
            "DROP INDEXTABLES PARTITIONS FROM 's3://lake/events' WHERE date = '2024-01-01'",
            DropPartitions(PATH, "date = '2024-01-01'"),
        ),
        ("MERGE SPLITS", MergeSplits()),
        ("MERGE SPLITS 's3://lake/events'", MergeSplits(PATH)),
        ("MERGE SPLITS WHERE hour > 3", MergeSplits(where="hour > 3")),
        ("MERGE SPLITS db.events TARGET SIZE 100M", MergeSplits(NAME, target_size_bytes=100 * 1024**2)),
        ("MERGE SPLITS db.events MAX DEST SPLITS 10", MergeSplits(NAME, max_dest_splits=10)),
        ("MERGE SPLITS db.events MAX SOURCE SPLITS PER MERGE 50", MergeSplits(NAME, max_source_splits=50)),
        ("MERGE SPLITS db.events PRECOMMIT", MergeSplits(NAME, precommit=True)),
        (
            "MERGE SPLITS db.events WHERE day = 1 TARGET SIZE 1G MAX DEST SPLITS 2 MAX SOURCE SPLITS PER MERGE 3 PRECOMMIT",
            MergeSplits(NAME, "day = 1", 1024**3, 2, 3, precommit=True),
        ),
        (
            "REPAIR INDEXFILES TRANSACTION LOG 's3://a/_transaction_log' AT LOCATION 's3://b/_transaction_log'",
            RepairLog("s3://a/_transaction_log", "s3://b/_transaction_log"),
        ),
        ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE", InvalidateCache()),
        ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR 's3://lake/events'", InvalidateCache(PATH)),
        ("INVALIDATE HEADGATE TRANSACTION LOG CACHE FOR db.events", InvalidateCache(NAME)),
    ],
)
def test_each_form_becomes_its_statement(text: str, statement: object) -> None:
    assert parse_statement(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "checkpoint indextables db.events",
        "ChEcKpOiNt IndexTables db.events",
        "CHECKPOINT INDEXTABLES db.events;",
        "CHECKPOINT INDEXTABLES db.events ; ;\n",
        "\n\tCHECKPOINT\n\tINDEXTABLES\r\n\tdb.events\n",
        "CHECKPOINT INDEXTABLES db . events",
        "-- make a state\nCHECKPOINT INDEXTABLES db.events -- now",
        "/* make; a 'state' */CHECKPOINT/**/INDEXTABLES/* here */db.events/***/",
    ],
)
def test_case_space_comments_and_semicolons_do_not_matter(text: str) -> None:
    assert parse_statement(text) == Checkpoint(NAME)


@pytest.mark.parametrize(
    ("quoted", "path"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        ('"it\'s"', "it's"),
        ('"say ""hi"""', 'say "hi"'),
        ("'say \"hi\"'", 'say "hi"'),
        ("'two \"\" doubled'", 'two "" doubled'),
        (r"'C:\\lake\\events'", r"C:\lake\events"),
        (r"'caf\u00e9'", "café"),
        (r"'\101BC'", "ABC"),
        (r"'100\%'", r"100\%"),
        (r"'a\qb'", "aqb"),
        ("'café -- no comment /* nor here */;'", "café -- no comment /* nor here */;"),
    ],
)
def test_quotes_and_escapes_of_a_path_are_undone(quoted: str, path: str) -> None:
    assert parse_statement(f"CHECKPOINT HEADGATE {quoted}") == Checkpoint(TablePath(path))


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("`my-table`", ("my-table",)),
        ("`a.b`.c", ("a.b", "c")),
        ("`tick``ed`", ("tick`ed",)),
        ("`where`", ("where",)),
        ("`2024`", ("2024",)),
        ("2024_events", ("2024_events",)),
        ("_hidden.state", ("_hidden", "state")),
    ],
)
def test_a_table_name_may_be_quoted_with_backquotes(written: str, parts: tuple[str, ...]) -> None:
    assert parse_statement(f"COMPACT HEADGATE {written}") == Compact(TableName(parts))


@pytest.mark.parametrize("word", ["cache", "state", "log", "checkpoint", "indextables", "dry", "where", "max", "merge"])
def test_a_table_may_be_called_like_a_keyword_where_no_keyword_could_stand(word: str) -> None:
    assert parse_statement(f"PURGE INDEXTABLE {word} DRY RUN") == PurgeStatement(TableName((word,)), dry_run=True)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("1048576", 1024**2),
        ("1M", 1024**2),
        ("2m", 2 * 1024**2),
        ("5G", 5 * 1024**3),
        ("5g", 5 * 1024**3),
        ("'100M'", 100 * 1024**2),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_a_target_size_is_digits_with_a_binary_unit(size: str, expected: int) -> None:
    assert parse_statement(f"MERGE SPLITS t TARGET SIZE {size}") == MergeSplits(
        TableName(("t",)), target_size_bytes=expected
    )


def test_merging_aims_at_five_gibibytes_unless_the_statement_or_the_table_says_so() -> None:
    statement = parse_statement("MERGE SPLITS t")
    assert isinstance(statement, MergeSplits)
    assert (statement.target_size_bytes, statement.default_size_bytes) == (None, 5_368_709_120)


@pytest.mark.parametrize(
    "predicate",
    [
        "a = 'TARGET SIZE 1' AND b = 2",
        'a = "x PRECOMMIT y"',
        "`max dest` = 1",
        "a = 'it''s MAX DEST' AND b = 'q\\' PRECOMMIT'",
        "a = 1 /* TARGET SIZE 5 */ AND b = 2",
        "a = 1 -- PRECOMMIT\n AND b = 2",
        "a = 'one; two'",
        "target = 1 AND max > 2 AND my_target size_of",
        "a - b / c < -1 AND (d IN ('x', 'y'))",
        "région = 'é'",
        "a BETWEEN 1 AND 2",
    ],
)
def test_a_predicate_is_taken_as_written_up_to_the_next_clause(predicate: str) -> None:
    statement = parse_statement(f"MERGE SPLITS t WHERE {predicate} TARGET /* of */ SIZE 1M PRECOMMIT;")
    assert statement == MergeSplits(TableName(("t",)), predicate, 1024**2, precommit=True)


@pytest.mark.parametrize(
    "clause", ["TARGET SIZE 1M", "MAX DEST SPLITS 1", "MAX SOURCE SPLITS PER MERGE 2", "PRECOMMIT"]
)
def test_each_clause_ends_the_predicate(clause: str) -> None:
    statement = parse_statement(f"merge splits where a = 1 {clause.lower()}")
    assert isinstance(statement, MergeSplits)
    assert statement.where == "a = 1"


def test_the_clauses_of_merging_do_not_end_the_predicate_of_dropping() -> None:
    statement = parse_statement("DROP HEADGATE PARTITIONS FROM t WHERE max dest target size precommit")
    assert statement == DropPartitions(TableName(("t",)), "max dest target size precommit")


@pytest.mark.parametrize(
    "text",
    [
        "DROP HEADGATE PARTITIONS FROM t\nWHERE /* the old */ date < '2024' ; ",
        "MERGE SPLITS\n-- all\nWHERE date < '2024'",
    ],
)
def test_a_predicate_knows_its_place_in_the_statement(text: str) -> None:
    statement = parse_statement(text)
    assert isinstance(statement, DropPartitions | MergeSplits)
    assert statement.where == "date < '2024'"
    assert text[statement.where_position :].startswith("date < '2024'")


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("CHECKPOINT INDEXTABLES 't'", True),
        ("-- note\n/* note */ compact headgate t", True),
        ("MERGE SPLITS", True),
        ("merge splits nonsense everywhere", True),
        ("PURGE INDEXTABLE t", True),
        ("PURGE HEADGATE t", True),
        ("DROP TANTIVY4SPARK PARTITIONS", True),
        ("DESCRIBE INDEXTABLES STATE t", True),
        ("DESCRIBE INDEXTABLES TRANSACTION LOG t", True),
        ("TRUNCATE INDEXTABLES TIME TRAVEL t", True),
        ("REPAIR INDEXFILES TRANSACTION LOG 'a' AT LOCATION 'b'", True),
        ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE", True),
        ("", False),
        ("SELECT 1", False),
        ("MERGE INTO t USING s ON t.a = s.a", False),
        ("DESCRIBE headgate", False),
        ("DESCRIBE headgate.state", False),
        ("DESCRIBE INDEXTABLES DISK CACHE", False),
        ("DROP TABLE headgate", False),
        ("TRUNCATE TABLE indextables", False),
        ("PURGE INDEXTABLES t", False),
        ("CHECKPOINT 'INDEXTABLES'", False),
        ("/* CHECKPOINT INDEXTABLES t", False),
        ("CHECKPOINTINDEXTABLES t", False),
    ],
)
def test_the_first_words_tell_whose_statement_it_is(text: str, ours: bool) -> None:
    assert is_operator_statement(text) is ours
