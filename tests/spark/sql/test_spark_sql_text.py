"""Tables named by their paths in SQL text: what is found, what is replaced, and what is refused. Without Spark."""

import pytest

from headgate.spark.statements.path_reads import PathRead, path_reads, replaced
from headgate.statements.statements import StatementError


def _found(text: str) -> list[tuple[str, int | None, str | None]]:
    return [(read.uri, read.version, read.time) for read in path_reads(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM headgate.`/lake/t`", ("/lake/t", None, None)),
        ("select * from HEADGATE . `/lake/t` t where id > 3", ("/lake/t", None, None)),
        ("TABLE `headgate`.`s3://b/t`", ("s3://b/t", None, None)),
        ("SELECT * FROM headgate.`/a``b`", ("/a`b", None, None)),
        ("SELECT * FROM headgate.`/t` VERSION AS OF 3", ("/t", 3, None)),
        ("SELECT * FROM headgate.`/t` FOR SYSTEM_VERSION AS OF '3' x", ("/t", 3, None)),
        ("SELECT * FROM headgate.`/t` -- so\n version /* as */ as of 3", ("/t", 3, None)),
        ("SELECT * FROM headgate.`/t` TIMESTAMP AS OF '2024-01-31' WHERE x", ("/t", None, "'2024-01-31'")),
        ("SELECT * FROM headgate.`/t` TIMESTAMP AS OF DATE '2024-01-31'", ("/t", None, "DATE '2024-01-31'")),
        ("SELECT * FROM headgate.`/t` FOR TIMESTAMP AS OF now() x", ("/t", None, "now()")),
        ("SELECT * FROM headgate.`/t` SYSTEM_TIME AS OF (now() - INTERVAL (1) DAY)", ("/t", None, "(now() - INTERVAL (1) DAY)")),
        ("SELECT * FROM headgate.`/t` AS version", ("/t", None, None)),
        ("SELECT * FROM headgate.`/t` FOR", ("/t", None, None)),
        ("INSERT INTO other SELECT * FROM headgate.`/t`", ("/t", None, None)),
        ("CREATE TABLE other AS SELECT * FROM headgate.`/t`", ("/t", None, None)),
        ("DESCRIBE TABLE headgate.`/t`", ("/t", None, None)),
    ],
)  # fmt: skip
def test_a_table_named_by_its_path_is_found(text: str, expected: tuple[str, int | None, str | None]) -> None:
    assert _found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'headgate.`/t`'",
        'SELECT "headgate.`/t`"',
        "SELECT r'\\' || 'headgate.`/t`'",
        "SELECT 'it''s \\' headgate.`/t`'",
        "SELECT 1 -- headgate.`/t`",
        "SELECT 1 /* /* */ headgate.`/t` */",
        "SELECT `headgate.``/t```",
        "SELECT a.headgate.`/t` FROM a",
        "SELECT * FROM headgate.t",
        "SELECT * FROM headgates.`/t`",
        "SELECT * FROM parquet.`/headgate`",
        "SELECT 'never closed headgate.`/t`",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert path_reads(text) == []


def test_every_place_is_replaced_and_all_else_is_kept() -> None:
    text = "SELECT '{x}' FROM headgate.`/a` VERSION AS OF 1 a JOIN headgate.`/b` USING (id) -- {}"
    reads = path_reads(text)
    made = replaced(text, reads, ["one", "two"], is_format=False)
    assert made.format(one="A", two="B") == "SELECT '{x}' FROM A a JOIN B USING (id) -- {}"


def test_a_text_with_arguments_of_its_own_keeps_its_braces() -> None:
    text = "SELECT * FROM {mine} JOIN headgate.`/b`"
    made = replaced(text, path_reads(text), ["one"], is_format=True)
    assert made == "SELECT * FROM {mine} JOIN {one}"


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO headgate.`/t` SELECT 1",
        "INSERT INTO TABLE headgate.`/t` VALUES (1)",
        "INSERT OVERWRITE headgate.`/t` SELECT 1",
        "WITH x AS (SELECT 1) INSERT INTO headgate.`/t` SELECT * FROM x",
        "DELETE FROM headgate.`/t` WHERE id = 1",
        "UPDATE headgate.`/t` SET id = 1",
        "MERGE INTO headgate.`/t` USING s ON s.id = id WHEN MATCHED THEN DELETE",
        "CREATE TABLE headgate.`/t` (id INT)",
        "DROP TABLE IF EXISTS headgate.`/t`",
    ],
)
def test_a_table_named_by_its_path_is_only_read(text: str) -> None:
    with pytest.raises(StatementError, match="CREATE TEMPORARY VIEW v USING headgate OPTIONS"):
        path_reads(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM headgate.`/t` VERSION AS OF x", "whole number"),
        ("SELECT * FROM headgate.`/t` VERSION AS OF", "whole number"),
        ("SELECT * FROM headgate.`/t` VERSION AS OF 1.5", "whole number"),
        ("SELECT * FROM headgate.`/t` TIMESTAMP AS OF", "time is missing"),
        ("SELECT * FROM headgate.`/t` TIMESTAMP AS OF x", "no time"),
        ("SELECT * FROM headgate.`/t` TIMESTAMP AS OF now() - INTERVAL 1 DAY", "in parentheses"),
        ("SELECT * FROM headgate.`/t` TIMESTAMP AS OF (now()", "not closed"),
    ],
)
def test_a_moment_that_can_not_be_told_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(StatementError, match=said) as raised:
        path_reads(text)
    assert raised.value.position > text.index("AS OF")


def test_a_read_knows_its_place_in_the_text() -> None:
    text = "SELECT * FROM headgate.`/t` VERSION AS OF 3 WHERE id > 1"
    (read,) = path_reads(text)
    assert read == PathRead(14, 43, "/t", 3, None)
    assert text[read.start : read.end] == "headgate.`/t` VERSION AS OF 3"
