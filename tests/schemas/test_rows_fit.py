"""Which rows fit into which table, and what a table that is made for rows, or widened for them, looks like."""

import pytest

from headgate_schemas.columns.rows_fit import RowsFit, fit_new_table, fit_rows
from headgate_schemas.columns.table_schema import column_kinds, schema_string_of
from headgate_schemas.errors import InvalidInput


def fit(rows: str, table: str, *, merge_schema: bool = False) -> RowsFit:
    return fit_rows(schema_string_of(rows), schema_string_of(table), "/lake/t", merge_schema=merge_schema)


def refusal(rows: str, table: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        fit(rows, table)
    return str(caught.value)


def test_columns_are_found_by_name_in_any_order_and_case() -> None:
    assert fit("NAME STRING, id BIGINT", "id BIGINT, name STRING").sources == {"id": 1, "name": 0}


def test_a_column_that_the_rows_lack_is_left_out_where_it_may_be_null() -> None:
    assert fit("id BIGINT", "id BIGINT, name STRING").sources == {"id": 0}


def test_a_column_that_the_rows_lack_is_missed_where_it_may_not_be_null() -> None:
    assert "no column 'name', which the table at /lake/t needs" in refusal(
        "id BIGINT", "id BIGINT, name STRING NOT NULL"
    )


def test_a_column_that_the_table_lacks_is_named_with_the_option_that_adds_it() -> None:
    message = refusal("id BIGINT, colour STRING", "id BIGINT")
    assert "no column 'colour'" in message
    assert "mergeSchema" in message


def test_with_merge_schema_new_columns_come_last_and_may_be_null() -> None:
    found = fit("colour STRING NOT NULL, id BIGINT", "id BIGINT, name STRING", merge_schema=True)
    assert found.new_columns == ("colour",)
    assert found.sources == {"id": 1, "colour": 0}
    assert list(column_kinds(found.schema_string)) == ["id", "name", "colour"]
    assert '"name":"colour","type":"string","nullable":true' in found.schema_string


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("TINYINT", "SMALLINT"),
        ("SMALLINT", "INT"),
        ("INT", "BIGINT"),
        ("FLOAT", "DOUBLE"),
        ("INT", "DOUBLE"),
        ("SMALLINT", "FLOAT"),
        ("INT", "DECIMAL(12,2)"),
        ("DECIMAL(10,2)", "DECIMAL(12,3)"),
        ("STRING", "VARCHAR(5)"),
        ("ARRAY<INT>", "ARRAY<BIGINT>"),
        ("STRUCT<a: INT>", "STRUCT<a: BIGINT>"),
    ],
)
def test_a_narrower_type_fits_into_a_wider_one_and_not_the_other_way(narrow: str, wide: str) -> None:
    assert fit(f"c {narrow}", f"c {wide}").sources == {"c": 0}
    if wide != "VARCHAR(5)":  # whose texts are measured when they are written
        assert "cast it" in refusal(f"c {wide}", f"c {narrow}")


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ("STRING", "BIGINT"),
        ("BIGINT", "DOUBLE"),
        ("INT", "DECIMAL(11,2)"),
        ("TIMESTAMP", "TIMESTAMP_NTZ"),
        ("DATE", "TIMESTAMP"),
        ("MAP<STRING, INT>", "ARRAY<INT>"),
    ],
)
def test_what_could_lose_something_is_not_cast_silently(given: str, held: str) -> None:
    assert "column 'c' is" in refusal(f"c {given}", f"c {held}")


def test_fields_inside_of_a_struct_have_the_same_names_in_the_same_order() -> None:
    assert "has the fields b, a" in refusal("c STRUCT<b: INT, a: INT>", "c STRUCT<a: INT, b: INT>")


def test_a_field_inside_that_may_be_null_does_not_fit_where_none_may_be() -> None:
    assert "c'.a may be null" in refusal("c STRUCT<a: INT>", "c STRUCT<a: INT NOT NULL>")


def test_two_columns_that_differ_in_case_alone_are_refused() -> None:
    rows = '{"type":"struct","fields":[{"name":"a","type":"long"},{"name":"A","type":"long"}]}'
    with pytest.raises(InvalidInput, match="are one column"):
        fit_rows(rows, schema_string_of("a BIGINT"), "/lake/t", merge_schema=False)


def test_rows_with_no_column_of_the_table_are_refused() -> None:
    rows = '{"type":"struct","fields":[]}'
    with pytest.raises(InvalidInput, match="have no columns"):
        fit_rows(rows, schema_string_of("a BIGINT"), "/lake/t", merge_schema=False)


def test_a_table_that_is_made_for_rows_takes_nulls_everywhere() -> None:
    found = fit_new_table(schema_string_of("id BIGINT NOT NULL, c STRUCT<a: INT NOT NULL>"), ["id"])
    assert '"nullable":false' not in found.schema_string
    assert found.sources == {"id": 0, "c": 1}


def test_a_new_table_is_not_partitioned_by_a_column_that_it_lacks() -> None:
    with pytest.raises(InvalidInput, match="can't be partitioned by 'day'"):
        fit_new_table(schema_string_of("id BIGINT"), ["day"])
