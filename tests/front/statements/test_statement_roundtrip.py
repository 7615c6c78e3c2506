"""Any statement, spelled in any allowed way, is read back as itself. The speller here knows nothing of the parser."""

from hypothesis import given
from hypothesis import strategies as st

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
    Statement,
    TableName,
    TablePath,
    Target,
    TruncateTimeTravel,
    is_operator_statement,
    parse_statement,
)

PRINTABLE = st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_characters="\x7f", exclude_categories=["Cs"])
PATHS = st.text(PRINTABLE, min_size=1, max_size=30)
PLAIN_NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True)
NAMES = st.one_of(PLAIN_NAMES, st.text(PRINTABLE, min_size=1, max_size=12))
TARGETS: st.SearchStrategy[Target] = st.one_of(
    st.builds(TablePath, PATHS), st.builds(TableName, st.lists(NAMES, min_size=1, max_size=4).map(tuple))
)
HOURS = st.one_of(st.none(), st.integers(0, 10**6))
LITERALS = st.text(PRINTABLE, max_size=20).map(lambda text: "'" + text.replace("\\", "\\\\").replace("'", "''") + "'")
COMPARISONS = st.builds(
    lambda name, sign, value: f"{name} {sign} {value}", PLAIN_NAMES, st.sampled_from("=<>"), LITERALS
)
PREDICATES = (
    st.lists(COMPARISONS, min_size=1, max_size=3).map(" AND ".join).filter(lambda text: "precommit " not in text)
)
SIZES = st.one_of(
    st.integers(1024**2, 2**63 - 1),
    st.integers(1, 10**6).map(lambda n: n * 1024**2),
    st.integers(1, 10**3).map(lambda n: n * 1024**3),
)

STATEMENTS: st.SearchStrategy[Statement] = st.one_of(
    st.builds(Checkpoint, TARGETS),
    st.builds(Compact, TARGETS),
    st.builds(DescribeState, TARGETS),
    st.builds(DescribeLog, TARGETS, st.booleans()),
    st.builds(PurgeStatement, TARGETS, HOURS, HOURS, st.booleans()),
    st.builds(TruncateTimeTravel, TARGETS, st.booleans()),
    st.builds(DropPartitions, TARGETS, PREDICATES),
    st.builds(
        MergeSplits,
        st.one_of(st.none(), TARGETS),
        st.one_of(st.none(), PREDICATES),
        SIZES,
        st.one_of(st.none(), st.integers(1, 2**31 - 1)),
        st.one_of(st.none(), st.integers(2, 2**31 - 1)),
        st.booleans(),
    ),
    st.builds(RepairLog, PATHS, PATHS),
    st.builds(InvalidateCache, st.one_of(st.none(), TARGETS)),
)


class Speller:
    """Writes a statement in one of its many spellings, chosen by the draws."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def one_of(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def words(self, text: str) -> list[str]:
        return [self.one_of(word, word.lower(), word.capitalize()) for word in text.split()]

    def engine(self) -> str:
        return self.one_of("INDEXTABLES", "TANTIVY4SPARK", "HEADGATE")

    def path(self, path: str) -> str:
        quote = self.one_of("'", '"')
        inner = path.replace("\\", "\\\\").replace(quote, self.one_of("\\" + quote, quote * 2))
        return quote + inner + quote

    def name(self, name: str) -> str:
        plain = name.isascii() and name.isidentifier() and name not in {"where", "target", "max", "precommit"}
        if plain and self.draw(st.booleans()):
            return name
        return "`" + name.replace("`", "``") + "`"

    def target(self, target: Target) -> list[str]:
        match target:
            case TablePath(path):
                return [self.path(path)]
            case TableName(parts):
                return [".".join(self.name(part) for part in parts)]

    def span(self, hours: int) -> list[str]:
        if hours % 24 == 0 and self.draw(st.booleans()):
            return [str(hours // 24), *self.words("DAYS")]
        return [str(hours), *self.words("HOURS")]

    def size(self, size: int) -> str:
        spellings = [str(size), f"'{size}'"]
        spellings += [f"{size // 1024**2}M", f"{size // 1024**2}m"] if size % 1024**2 == 0 else []
        spellings += [f"{size // 1024**3}G", f"{size // 1024**3}g"] if size % 1024**3 == 0 else []
        return self.one_of(*spellings)

    def optional(self, wanted: bool, clause: str) -> list[str]:
        return self.words(clause) if wanted else []

    def pieces(self, statement: Statement) -> list[str]:
        match statement:
            case Checkpoint(target):
                return [*self.words(f"CHECKPOINT {self.engine()}"), *self.target(target)]
            case Compact(target):
                return [*self.words(f"COMPACT {self.engine()}"), *self.target(target)]
            case DescribeState(target):
                return [*self.words(f"DESCRIBE {self.engine()} STATE"), *self.target(target)]
            case DescribeLog(target, include_all):
                start = self.words(f"DESCRIBE {self.engine()} TRANSACTION LOG")
                return [*start, *self.target(target), *self.optional(include_all, "INCLUDE ALL")]
            case PurgeStatement(target, older_than, log_retention, dry_run):
                pieces = [*self.words(f"PURGE {self.one_of('INDEXTABLE', 'HEADGATE')}"), *self.target(target)]
                if older_than is not None:
                    pieces += [*self.words("OLDER THAN"), *self.span(older_than)]
                if log_retention is not None:
                    pieces += [*self.words("TRANSACTION LOG RETENTION"), *self.span(log_retention)]
                return pieces + self.optional(dry_run, "DRY RUN")
            case TruncateTimeTravel(target, dry_run):
                start = self.words(f"TRUNCATE {self.engine()} TIME TRAVEL")
                return [*start, *self.target(target), *self.optional(dry_run, "DRY RUN")]
            case DropPartitions(target, where):
                start = self.words(f"DROP {self.engine()} PARTITIONS FROM")
                return [*start, *self.target(target), *self.words("WHERE"), where]
            case MergeSplits(maybe_target, maybe_where, size, max_dest, max_source, precommit):
                pieces = self.words("MERGE SPLITS")
                pieces += [] if maybe_target is None else self.target(maybe_target)
                pieces += [] if maybe_where is None else [*self.words("WHERE"), maybe_where]
                pieces += [] if size is None else [*self.words("TARGET SIZE"), self.size(size)]
                pieces += [] if max_dest is None else [*self.words("MAX DEST SPLITS"), str(max_dest)]
                pieces += [] if max_source is None else [*self.words("MAX SOURCE SPLITS PER MERGE"), str(max_source)]
                return pieces + self.optional(precommit, "PRECOMMIT")
            case RepairLog(source, into):
                start = self.words("REPAIR INDEXFILES TRANSACTION LOG")
                return [*start, self.path(source), *self.words("AT LOCATION"), self.path(into)]
            case InvalidateCache(maybe_target):
                start = self.words(f"INVALIDATE {self.engine()} TRANSACTION LOG CACHE")
                return start if maybe_target is None else [*start, *self.words("FOR"), *self.target(maybe_target)]

    def text(self, statement: Statement) -> str:
        gaps = (" ", "\n", "\t ", " \r\n")
        text = self.one_of("", *gaps, "-- before\n", "/* before */")
        for piece in self.pieces(statement):
            # A comment that follows a predicate directly is part of its text, so between words there are spaces only.
            text += piece + self.one_of(*gaps)
        return text + self.one_of("", ";", ";;", " ; ", "; -- after", ";/* after */")


@st.composite
def spelled_statements(draw: st.DrawFn) -> tuple[Statement, str]:
    statement = draw(STATEMENTS)
    return statement, Speller(draw).text(statement)


@given(spelled_statements())
def test_every_spelling_of_a_statement_is_read_back_as_it(spelled: tuple[Statement, str]) -> None:
    statement, text = spelled
    assert parse_statement(text) == statement


@given(spelled_statements())
def test_every_spelling_of_a_statement_is_recognised_as_ours(spelled: tuple[Statement, str]) -> None:
    assert is_operator_statement(spelled[1])


@given(spelled_statements())
def test_a_predicate_stands_where_the_statement_says(spelled: tuple[Statement, str]) -> None:
    text = spelled[1]
    match parse_statement(text):
        case (DropPartitions() | MergeSplits()) as statement if statement.where is not None:
            assert text.startswith(statement.where, statement.where_position)
        case other:
            assert not isinstance(other, DropPartitions)
