"""One schema for many files: what is nullable, what is widened, and what is a contradiction."""

import pytest

from headgate_schemas.columns.spark_types import ArrayOf, Atomic, Field, MapOf, SparkType, Struct
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.repair.merged_schema import GivenSchema, MergedSchema, widened
from headgate_table.parquet.schema import VOID, StoredColumn, Unusable

LONG, INT, STRING, DOUBLE = Atomic("long"), Atomic("integer"), Atomic("string"), Atomic("double")


def column(name: str, type_: SparkType | Unusable = LONG, *, nullable: bool = True) -> StoredColumn:
    return StoredColumn(name, type_, nullable)


def merged(*files: tuple[StoredColumn, ...]) -> tuple[Field, ...]:
    schema = MergedSchema()
    for number, columns in enumerate(files):
        schema.add(f"{number}.parquet", columns)
    return schema.fields()


def test_columns_keep_the_order_in_which_they_are_met() -> None:
    found = merged((column("b"), column("a")), (column("a"), column("c"), column("b")))
    assert [field.name for field in found] == ["b", "a", "c"]


def test_a_column_that_every_file_has_and_none_leaves_empty_is_not_nullable() -> None:
    assert merged(*[(column("a", nullable=False),)] * 3) == (Field("a", LONG, nullable=False),)


@pytest.mark.parametrize("order", [1, -1], ids=["added", "left out"])
def test_a_column_that_a_file_lacks_is_nullable(order: int) -> None:
    files = [(column("a", nullable=False), column("b", nullable=False)), (column("a", nullable=False),)][::order]
    assert {field.name: field.nullable for field in merged(*files)} == {"a": False, "b": True}


def test_a_column_that_one_file_may_leave_empty_is_nullable() -> None:
    assert merged((column("a", nullable=False),), (column("a"),)) == (Field("a", LONG, nullable=True),)


@pytest.mark.parametrize(
    ("left", "right", "wider"),
    [
        (INT, LONG, LONG),
        (Atomic("byte"), Atomic("short"), Atomic("short")),
        (Atomic("float"), DOUBLE, DOUBLE),
        (INT, Atomic("float"), DOUBLE),
        (INT, Atomic("decimal(5,2)"), Atomic("decimal(12,2)")),
        (Atomic("decimal(5,2)"), Atomic("decimal(6,4)"), Atomic("decimal(7,4)")),
        (VOID, STRING, STRING),
        (ArrayOf(INT, contains_null=False), ArrayOf(LONG), ArrayOf(LONG)),
        (MapOf(STRING, INT), MapOf(STRING, DOUBLE), MapOf(STRING, DOUBLE)),
        (
            Struct((Field("x", INT, nullable=False), Field("y", INT, nullable=False))),
            Struct((Field("x", LONG, nullable=False), Field("z", INT, nullable=False))),
            Struct((Field("x", LONG, nullable=False), Field("y", INT), Field("z", INT))),
        ),
        (LONG, DOUBLE, None),
        (LONG, STRING, None),
        (STRING, Atomic("binary"), None),
        (Atomic("date"), Atomic("timestamp"), None),
        (Atomic("timestamp"), Atomic("timestamp_ntz"), None),
        (Atomic("decimal(38,0)"), Atomic("decimal(38,10)"), None),
        (ArrayOf(INT), INT, None),
        (Struct((Field("x", INT),)), Struct((Field("x", STRING),)), None),
    ],
)
def test_types_are_widened_only_where_nothing_is_lost(
    left: SparkType, right: SparkType, wider: SparkType | None
) -> None:
    assert widened(left, right) == wider
    if not isinstance(left, Struct):
        assert widened(right, left) == wider


def test_a_contradiction_names_the_column_both_types_and_both_files() -> None:
    with pytest.raises(InvalidInput, match=r"'a' is long in 1\.parquet and string in 2\.parquet"):
        merged((column("a", INT),), (column("a", LONG),), (column("a", STRING),))


def test_names_that_differ_only_in_case_are_refused_with_both_files() -> None:
    with pytest.raises(InvalidInput, match=r"0\.parquet has a column 'Day' and 1\.parquet one 'day'"):
        merged((column("Day"),), (column("day"),))


def test_a_type_that_no_table_holds_is_refused_with_its_file() -> None:
    with pytest.raises(InvalidInput, match=r"'at' of 0\.parquet.*time of day.*without the column"):
        merged((column("at", Unusable("'at' is a time of day")),))


def test_a_name_that_no_table_has_is_refused_with_its_file() -> None:
    with pytest.raises(InvalidInput, match=r"the columns of 0\.parquet"):
        merged((column("a"), column("line\nbreak")))


def test_a_column_without_any_value_is_text_and_told() -> None:
    schema = MergedSchema()
    schema.add("a.parquet", (column("a", VOID), column("b", ArrayOf(VOID))))
    assert [field.type for field in schema.fields()] == [STRING, ArrayOf(STRING)]
    assert schema.untyped() == ("a", "b")


# --- a schema that the user gives -------------------------------------------------------------------------------------


def given(*fields: Field) -> GivenSchema:
    return GivenSchema(Struct(fields))


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        (LONG, INT),
        (INT, DOUBLE),
        (INT, Atomic("decimal(12,2)")),
        (Atomic("binary"), STRING),
        (STRING, Atomic("varchar(20)")),
        (Atomic("timestamp_ntz"), Atomic("timestamp")),
        (VOID, Atomic("date")),
        (ArrayOf(INT), ArrayOf(LONG)),
        (Struct((Field("x", INT), Field("y", INT))), Struct((Field("x", LONG), Field("new", STRING)))),
    ],
)
def test_a_given_type_is_taken_if_readers_convert_to_it(stored: SparkType, wanted: SparkType) -> None:
    given(Field("a", wanted)).add("a.parquet", (column("a", stored),), ())


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [(STRING, LONG), (DOUBLE, LONG), (LONG, Atomic("date")), (ArrayOf(STRING), ArrayOf(LONG)), (LONG, ArrayOf(LONG))],
)
def test_a_given_type_that_readers_fail_at_is_refused_with_the_file(stored: SparkType, wanted: SparkType) -> None:
    with pytest.raises(InvalidInput, match=r"'a' is .* in a\.parquet"):
        given(Field("a", wanted)).add("a.parquet", (column("a", stored),), ())


def test_a_given_column_that_must_not_be_null_must_be_in_every_file() -> None:
    with pytest.raises(InvalidInput, match=r"b\.parquet has no column 'a'.*NOT NULL"):
        given(Field("a", LONG, nullable=False)).add("b.parquet", (column("b"),), ())


def test_a_partition_column_needn_t_be_in_a_file_nor_have_its_type() -> None:
    schema = given(Field("a", LONG), Field("day", Atomic("date"), nullable=False))
    schema.add("a.parquet", (column("a"), column("day", STRING)), ("day",))
    assert schema.unnamed() == {}


def test_columns_that_a_given_schema_doesn_t_name_are_told_with_a_file() -> None:
    schema = given(Field("a", LONG))
    schema.add("a.parquet", (column("a"), column("at", Unusable("a time of day"))), ())
    schema.add("b.parquet", (column("a"), column("b"), column("at", Unusable("a time of day"))), ())
    assert schema.unnamed() == {"at": "a.parquet", "b": "b.parquet"}


def test_a_given_column_that_can_t_be_read_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"time of day.*leave it out"):
        given(Field("at", LONG)).add("a.parquet", (column("at", Unusable("'at' is a time of day")),), ())
