"""The options of `format("headgate")`: what they take, and that a wrong one is never passed over."""

from dataclasses import fields
from typing import Any

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.store.settings import StoreSettings
from pyspark_headgate.effective_settings import effective, s3_settings
from pyspark_headgate.options import OPTIONS, SourceOptions


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("partitionby", "day, hour", "partition_by", ("day", "hour")),
        ("partitionby", "", "partition_by", ()),
        ("partitionby", '["a, b"]', "partition_by", ("a, b",)),
        ("targetfilesize", "64MB", "target_file_bytes", 64 << 20),
        ("targetfilesize", "1000", "target_file_bytes", 1000),
        ("mergeschema", "TRUE", "merge_schema", True),
        ("codec", "uncompressed", "compression", "none"),
        ("partitionoverwritemode", "DYNAMIC", "partition_overwrite_mode", "dynamic"),
        ("receiptwithin", "90s", "receipt_within_s", 90.0),
    ],
)
def test_an_option_is_parsed(name: str, text: str, field: str, value: Any) -> None:
    assert getattr(SourceOptions.of({name: text}), field) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("targetFileSize", "0"),
        ("targetFileSize", "many"),
        ("mergeSchema", "yes"),
        ("compression", "brotli9"),
        ("partitionOverwriteMode", "some"),
        ("receiptWithin", "-1"),
        ("receiptWithin", "nan"),
        ("partitionBy", "a,,b"),
        ("versionAsOf", "-1"),
        ("bus", " "),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_what_the_option_takes(name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=f"option {name} is .*; it takes "):
        SourceOptions.of({name: text})


def test_a_mistyped_option_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match="did you mean replaceWhere"):
        SourceOptions.of({"replacewhre": "k = 1"})


def test_names_of_other_programs_with_a_dot_are_left_alone() -> None:
    assert SourceOptions.of({"path": "/t", "mapreduce.some.thing": "1"}) == SourceOptions(path="/t")


def test_every_option_fills_a_field_that_there_is() -> None:
    assert {option.field for option in OPTIONS} <= {field.name for field in fields(SourceOptions)}


def test_secrets_are_not_shown() -> None:
    given = SourceOptions.of(
        {"s3.secret-key": "hidden", "bus": "kafka://b?password=hidden", "fs.s3a.secret.key": "hidden"}
    )
    assert "hidden" not in repr(given)
    assert "hidden" not in repr(effective(given))


def test_settings_under_our_prefixes_go_to_the_table_or_its_store() -> None:
    given = SourceOptions.of(
        {
            "spark.headgate.checkpoint.interval": "3",
            "spark.indextables.aws.accessKey": "key",
            "spark.headgate.bus": "sqlite:bus.db",
            "spark.indextables.indexing.fields": "of another program",
        }
    )
    found = effective(given)
    assert found.table == {"checkpoint.interval": "3"}
    assert found.store.s3_access_key == "key"
    assert found.bus == "sqlite:bus.db"


def test_an_option_goes_over_the_sessions_and_the_sessions_over_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADGATE_STORE_S3_REGION", "of the environment")
    monkeypatch.setenv("HEADGATE_STORE_S3_ENDPOINT", "http://of.the.environment")
    monkeypatch.setenv("HEADGATE_STORE_S3_ACCESS_KEY", "of the environment")
    found = effective(
        SourceOptions.of(
            {
                "path": "s3://lake/t",
                "fs.s3a.endpoint": "http://of.the.session",
                "fs.s3a.access.key": "of the session",
                "s3.access-key": "of the option",
            }
        )
    )
    assert found.store == StoreSettings(
        s3_region="of the environment", s3_endpoint="http://of.the.session", s3_access_key="of the option"
    )


def test_hadoops_settings_of_the_tables_own_bucket_win() -> None:
    hadoop = {
        "fs.s3a.access.key": "any",
        "fs.s3a.bucket.lake.access.key": "own",
        "fs.s3a.bucket.sea.access.key": "other",
    }
    assert s3_settings(hadoop, "s3a://lake/t") == {"s3.access-key": "own"}


def test_an_endpoint_without_a_scheme_gets_the_one_that_hadoop_would_use() -> None:
    plain = {"fs.s3a.endpoint": "localhost:9000", "fs.s3a.connection.ssl.enabled": "false"}
    assert s3_settings(plain, "s3a://lake/t") == {"s3.endpoint": "http://localhost:9000"}
    assert s3_settings({"fs.s3a.endpoint": "s3.example.org"}, "s3a://lake/t") == {
        "s3.endpoint": "https://s3.example.org"
    }
