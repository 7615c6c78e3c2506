"""The condition that `headgate.spark.read` filters rows by is true for the rows that `Snapshot.scan` gives, and for no others."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import headgate
import headgate.spark
from headgate.spark.reads.row_conditions import row_condition
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import arrow_schema, column_kinds
from headgate_schemas.errors import PredicateError
from headgate_schemas.predicates.text import parse_predicate
from support.spark.reading import frame, table_of, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS: dict[str, tuple[str, pa.DataType, list[Any], list[str]]] = {
    "tiny": ("TINYINT", pa.int8(), [-128, 0, 5, 127, None], ["5", "4.5", "1000", "-1000", "'5'"]),
    "big": ("BIGINT", pa.int64(), [-(2**63), 0, 5, 2**63 - 1, None], ["5", "1e30", "9223372036854775807", "0.5"]),
    "f": (
        "FLOAT",
        pa.float32(),
        [0.1, -0.0, float("nan"), float("-inf"), None],
        ["0.1", "0", "'NaN'", "'-Infinity'", "1e300"],
    ),
    "x": ("DOUBLE", pa.float64(), [0.1, -0.0, float("nan"), float("inf"), None], ["0.1", "0", "'NaN'", "'Infinity'"]),
    "price": (
        "DECIMAL(9,2)",
        pa.decimal128(9, 2),
        [Decimal("-1.50"), Decimal("0"), Decimal("1.25"), Decimal("9999999.99"), None],
        ["1.25", "1.251", "1e20", "-1e20"],
    ),
    "text": ("STRING", pa.string(), ["", "a", "B", "ünï %_\\", None], ["'a'", "''", "'ünï %_\\\\'", "'zz'"]),
    "ok": ("BOOLEAN", pa.bool_(), [True, False, True, False, None], ["TRUE", "FALSE"]),
    "day": (
        "DATE",
        pa.date32(),
        [date(1, 1, 1), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None],
        ["'2024-02-29'", "DATE '1970-01-01'"],
    ),
    "at": (
        "TIMESTAMP",
        pa.timestamp("us", "UTC"),
        [
            datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
            datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
            datetime(2024, 10, 27, 1, 30, 0, 500_000, UTC),
            datetime(1600, 1, 1, tzinfo=UTC),
            None,
        ],
        ["'2024-03-31 01:30:00'", "TIMESTAMP '2024-10-27T01:30:00.5Z'"],
    ),
    "local": (
        "TIMESTAMP_NTZ",
        pa.timestamp("us"),
        [
            *map(
                datetime.fromisoformat, ("1600-01-01", "2024-03-31 02:30", "2024-03-31 02:30:00.000010", "9999-01-01")
            ),
            None,
        ],
        ["'2024-03-31 02:30:00'", "'2024-03-31 02:30:00.00001'"],
    ),
}
LIKED = {
    "text": ["''", "'a%'", "'ünï \\\\%\\\\_%'"],
    "day": ["'2024-%'"],
    "at": ["'2024-03-31 01%'", "'2024-10-27 01:30:00.5%'", "'1969-12-31 23:59:59.999999%'"],
    "local": ["'2024-03-31 02:30:00%'", "'2024-03-31 02:30:00.00001%'"],
}
COMBINED = [
    "NOT (tiny = 5 OR text = 'a')",
    "(day IS NULL OR day > '2000-01-01') AND NOT (ok = TRUE)",
    "TRUE",
    "FALSE",
    "tiny BETWEEN 0 AND 126.5 AND x IS NOT NULL",
]


def _texts() -> list[str]:
    texts = list(COMBINED)
    for name, (*_, literals) in COLUMNS.items():
        texts += [f"{name} IS NULL", f"{name} IS NOT NULL"]
        texts += [f"{name} {op} {literal}" for op in ("=", "<>", "<", "<=", ">", ">=") for literal in literals]
        texts += [f"{name} IN ({', '.join(literals)})", f"{name} NOT IN ({', '.join(literals)})"]
        texts += [f"{name} {like} {pattern}" for like in ("LIKE", "NOT LIKE") for pattern in LIKED.get(name, [])]
    return texts


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    columns = ", ".join(["id BIGINT", *(f"{name} {kind}" for name, (kind, *_) in COLUMNS.items())])
    made = table_of(tmp_path_factory.mktemp("where") / "t", columns)
    arrays = {name: pa.array(values, type_) for name, (_, type_, values, _) in COLUMNS.items()}
    made.append([written(made, "a.parquet", pa.table({"id": list(range(5)), **arrays}))])
    return made


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_a_condition_is_true_for_the_rows_that_a_scan_gives(
    spark: "SparkSession", table: headgate.Table, zone: str
) -> None:
    schema = arrow_schema(table.metadata.schema_string)
    kinds = kinds_of(column_kinds(table.metadata.schema_string))
    texts = _texts()
    conditions = [row_condition(parse_predicate(text), schema, kinds) for text in texts]
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = frame(spark, table, "native").select("id", *conditions).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = {text: sorted(row[0] for row in rows if row[1 + place]) for place, text in enumerate(texts)}
    snapshot = table.snapshot()
    expected = {text: sorted(snapshot.scan(["id"], text).read_all().column("id").to_pylist()) for text in texts}
    assert found == expected


@pytest.mark.parametrize(
    ("where", "pushed"),
    [
        ("tiny > 4.5", "GreaterThan(tiny,4)"),
        ("f = 0.5", "EqualTo(f,0.5)"),
        ("price <= 1.251", "LessThanOrEqual(price,1.25)"),
        ("at > '2024-03-31 01:30:00'", "GreaterThan(at,2024-03-31 01:30:00.0)"),
        ("local < '2024-03-31 01:30:00'", "LessThan(local,2024-03-31T01:30)"),
        ("day IN ('2024-02-29')", "EqualTo(day,2024-02-29)"),
    ],
)
def test_a_condition_is_pushed_into_the_files(
    spark: "SparkSession", table: headgate.Table, where: str, pushed: str
) -> None:
    read: Any = headgate.spark.read(spark, table.uri, where)
    plan = read._jdf.queryExecution().executedPlan().toString()
    assert pushed in plan.partition("PushedFilters: [")[2]


def test_a_literal_that_does_not_go_with_its_column_is_refused(spark: "SparkSession", table: headgate.Table) -> None:
    with pytest.raises(PredicateError, match="can't be compared with"):
        headgate.spark.read(spark, table.uri, "tiny = 'five'")
