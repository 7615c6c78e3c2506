"""A text that is no operator statement is refused at the right place, in plain words, with what was probably meant."""

import pytest

from headgate.statements import DropPartitions, StatementError, parse_statement
from headgate.statements.parse import MAX_STATEMENT_CHARS, predicate_error_in_statement
from headgate_schemas.errors import InvalidInput, PredicateError


def refusal(text: str) -> StatementError:
    with pytest.raises(StatementError) as caught:
        parse_statement(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("CHECKPOINT INDEXTABLES", "", "a path in quotes"),
        ("CHECKPOINT INDEXTABLES t u", "u", "the end of the statement"),
        ("DESCRIBE INDEXTABLES t", "t", "STATE"),
        ("DESCRIBE INDEXTABLES TRANSACTION LOG t INCLUDE", "", "ALL"),
        ("PURGE INDEXTABLE t OLDER THAN DAYS", "DAYS", "a whole number"),
        ("PURGE INDEXTABLE t OLDER THAN 7", "", "DAYS or HOURS"),
        ("PURGE INDEXTABLE t DRY", "", "RUN"),
        ("TRUNCATE INDEXTABLES TIME t", "t", "TRAVEL"),
        ("DROP INDEXTABLES PARTITIONS t", "t", "FROM"),
        ("DROP INDEXTABLES PARTITIONS FROM t WHERE ;", ";", "a predicate"),
        ("MERGE SPLITS t WHERE TARGET SIZE 1M", "TARGET", "a predicate"),
        ("MERGE SPLITS t TARGET SIZE", "", "a size such as 100M or 5G"),
        ("MERGE SPLITS t MAX SPLITS 3", "SPLITS 3", "DEST"),
        ("REPAIR INDEXFILES TRANSACTION LOG 'a' TO 'b'", "TO", "AT"),
        ("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR", "", "a table name"),
    ],
)
def test_a_wrong_word_is_pointed_at_with_what_could_have_stood_there(text: str, at: str, expected: str) -> None:
    error = refusal(text)
    assert error.position == (text.index(at) if at else len(text))
    assert expected in error.expected


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("CHEKPOINT INDEXTABLES t", "Did you mean CHECKPOINT?"),
        ("CHECKPOINT INDEXTABEL t", "Did you mean INDEXTABLES?"),
        ("PURGE INDEXTABLES t", "Did you mean INDEXTABLE?"),
        ("PURGE INDEXTABLE t DRY RUM", "Did you mean RUN?"),
        ("PURGE INDEXTABLE t OLDR THAN 7 DAYS", "Did you mean OLDER?"),
        ("PURGE INDEXTABLE t OLDER THAN 1 day", "Did you mean DAYS?"),
        ("DESCRIBE INDEXTABLES TRANSACTON LOG t", "Did you mean TRANSACTION?"),
        ("MERGE SPLITS t PRE_COMMIT", "Did you mean PRECOMMIT?"),
        ("PURGE 's3://lake/t'", "write PURGE INDEXTABLE"),
        ("CHECKPOINT 's3://lake/t'", "write CHECKPOINT INDEXTABLES"),
        ("CHECKPOINT INDEXTABLES s3://lake/t", "must be in quotes: 's3://lake/t'"),
        ("CHECKPOINT INDEXTABLES /lake/t;", "must be in quotes: '/lake/t'"),
        ("PURGE INDEXTABLE lake/t DRY RUN", "must be in quotes: 'lake/t'"),
        ("REPAIR INDEXFILES TRANSACTION LOG a AT LOCATION 'b'", "must be in quotes: 'a'"),
        ("COMPACT HEADGATE STATE 's3://lake/t'", "The form is: COMPACT"),
        ("CHECKPOINT INDEXTABLES my-table", "must be in backquotes: `my-table`"),
        ("CHECKPOINT INDEXTABLES 2024", "must be in backquotes: `2024`"),
        ("CHECKPOINT INDEXTABLES 's3://lake/t", "Close it with '"),
        ("DROP INDEXTABLES PARTITIONS FROM t WHERE a = 'x", "Close it with '"),
        ("CHECKPOINT INDEXTABLES `t", "Close it with `"),
        ("CHECKPOINT INDEXTABLES t /* later", "Close it with */"),
        ("PURGE INDEXTABLE t OLDER THAN 7d", "Write 7 DAYS"),
        ("PURGE INDEXTABLE t OLDER THAN 24h", "Write 24 HOURS"),
        ("PURGE INDEXTABLE t DRY RUN OLDER THAN 7 DAYS", "in the order of the form below"),
        ("MERGE SPLITS t TARGET SIZE 1G WHERE a = 1", "in the order of the form below"),
        ("MERGE SPLITS t WHERE a = 1 MAX DEST SPLITS 2 TARGET SIZE 1G", "in the order of the form below"),
        ("MERGE SPLITS t WHERE a = 1 PRECOMMIT TARGET SIZE 1G", "in the order of the form below"),
        ("MERGE SPLITS t TARGET SIZE 1G TARGET SIZE 2G", "at most once each"),
        ("CHECKPOINT INDEXTABLES t WHERE a = 1", "no clause WHERE"),
        ("DROP INDEXTABLES PARTITIONS FROM t", "never dropped without saying which"),
        ("COMPACT HEADGATE t; COMPACT HEADGATE u", "One statement at a time"),
    ],
)
def test_a_near_miss_gets_a_suggestion(text: str, suggestion: str) -> None:
    error = refusal(text)
    assert error.suggestion is not None
    assert suggestion in error.suggestion


def test_the_form_of_the_statement_that_was_meant_is_shown() -> None:
    assert str(refusal("TRUNCATE INDEXTABLES TIME TRAVEL")).endswith(
        "The form is: TRUNCATE INDEXTABLES TIME TRAVEL 'path'|table [DRY RUN]"
    )


def test_a_misspelled_first_word_still_finds_its_form() -> None:
    assert "The form is: COMPACT INDEXTABLES" in str(refusal("COMPAKT INDEXTABLES t"))


@pytest.mark.parametrize("text", ["", "   ", "-- nothing", "/* nothing */"])
def test_a_text_without_a_statement_says_so(text: str) -> None:
    assert str(refusal(text)).startswith("There is no statement here")


def test_another_language_is_told_what_statements_start_with() -> None:
    assert str(refusal("SELECT 1")).startswith(
        "SELECT starts no statement: an operator statement starts with CHECKPOINT, COMPACT, DESCRIBE, DROP,"
    )


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("MERGE SPLITS t TARGET SIZE 100MB", "100MB", "is no size"),
        ("MERGE SPLITS t TARGET SIZE 1K", "1K", "is no size"),
        ("MERGE SPLITS t TARGET SIZE ''", "''", "is no size"),
        ("MERGE SPLITS t TARGET SIZE 1048575", "1048575", "between 1M and"),
        ("MERGE SPLITS t TARGET SIZE 0G", "0G", "between 1M and"),
        ("MERGE SPLITS t TARGET SIZE 9223372036854775808", "9223", "between 1M and"),
        ("MERGE SPLITS t TARGET SIZE 9999999999G", "9999999999G", "between 1M and"),
        ("MERGE SPLITS t MAX DEST SPLITS 0", "0", "MAX DEST SPLITS must be a whole number from 1"),
        ("MERGE SPLITS t MAX DEST SPLITS many", "many", "MAX DEST SPLITS must be a whole number"),
        ("MERGE SPLITS t MAX SOURCE SPLITS PER MERGE 1", "1", "PER MERGE must be a whole number from 2"),
        ("MERGE SPLITS t MAX SOURCE SPLITS PER MERGE 2147483648", "2147483648", "to 2147483647"),
        ("PURGE INDEXTABLE t OLDER THAN 2562047788016 HOURS", "2562047788016", "2562047788015 HOURS"),
        ("PURGE INDEXTABLE t TRANSACTION LOG RETENTION 99999999999999999999 DAYS", "999", "can't be counted"),
        ("CHECKPOINT INDEXTABLES ''", "''", "The path is empty"),
        (r"CHECKPOINT INDEXTABLES 'C:\new'", "'C:", "control character"),
        ("CHECKPOINT INDEXTABLES 'a\x00b'", "'a", "control character"),
        (r"CHECKPOINT INDEXTABLES '\ud800'", "'", "control character"),
        ("CHECKPOINT INDEXTABLES db.``", "``", "can't be empty"),
        ("CHECKPOINT INDEXTABLES " + ".".join("abcdefghijklmnopq"), "q", "at most 16 parts"),
    ],
)
def test_a_value_that_breaks_a_rule_is_pointed_at(text: str, at: str, says: str) -> None:
    error = refusal(text)
    assert says in str(error)
    assert error.position == text.index(at)


@pytest.mark.parametrize("digits", [20, 5000])
def test_an_absurd_number_is_refused_like_any_other(digits: int) -> None:
    assert "is no size" in str(refusal(f"MERGE SPLITS t TARGET SIZE {'9' * digits}"))


def test_the_caret_stands_under_the_wrong_word_of_its_own_line() -> None:
    lines = str(refusal("MERGE SPLITS t\n\tTARGET SIZE huge\nPRECOMMIT")).splitlines()
    assert lines[1] == "   TARGET SIZE huge"
    assert lines[2] == "               ^  (line 2)"


def test_only_the_surroundings_of_the_place_are_shown() -> None:
    lines = str(refusal(f"CHECKPOINT INDEXTABLES '{'a' * 500}' oops '{'b' * 500}'")).splitlines()
    assert lines[2].index("^") == lines[1].index("oops")
    assert len(lines[1]) < 140


def test_nothing_that_moves_a_terminals_cursor_is_echoed() -> None:
    assert str(refusal("CHECKPOINT INDEXTABLES \x1b[2J")).replace("\n", "").isprintable()


def test_a_text_beyond_the_bound_is_refused_unread() -> None:
    error = refusal("CHECKPOINT INDEXTABLES t" + " " * MAX_STATEMENT_CHARS)
    assert "the most that is read is 65536" in str(error)


START = "DROP HEADGATE PARTITIONS FROM t WHERE a = "


def filled(filling: str) -> str:
    return START + filling * ((MAX_STATEMENT_CHARS - len(START)) // len(filling))


@pytest.mark.parametrize("filling", ["(", ";", "a.", "-", "TARGET ", "''", "``", "/**/"])
def test_a_text_of_the_full_length_is_read(filling: str) -> None:
    statement = parse_statement(filled(filling))
    assert isinstance(statement, DropPartitions)
    assert statement.where.startswith("a =")


@pytest.mark.parametrize("filling", ["/*(", "('", "(`", '("""', "; DROP "])
def test_a_text_of_the_full_length_is_refused(filling: str) -> None:
    assert refusal(filled(filling)).position >= len(START)


def test_a_statement_error_is_an_invalid_input() -> None:
    assert isinstance(refusal("nonsense"), InvalidInput)


def test_a_predicate_error_points_into_the_whole_statement() -> None:
    text = "DROP HEADGATE PARTITIONS FROM t WHERE date ? 1"
    statement = parse_statement(text)
    assert isinstance(statement, DropPartitions)
    error = predicate_error_in_statement(
        PredicateError("Unknown sign.", statement.where, 5), text, statement.where_position
    )
    assert error.position == text.index("?")
    assert str(error) == f"Unknown sign.\n  {text}\n  {' ' * text.index('?')}^"


def test_a_predicate_error_without_a_place_points_at_the_predicate() -> None:
    text = "MERGE SPLITS WHERE a = 1"
    assert predicate_error_in_statement(PredicateError("No.", "a = 1"), text, 19).position == 19
