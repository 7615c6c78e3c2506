"""Rows into a table on S3 and back: `write` and `read`, directly and by a bus, and the commands `load` and `query`."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headgate as product
from support.processes.command_line import Headgate
from support.servers.versitygw import S3Server

ROWS = pa.table({"id": [1, 2, 3], "day": ["mon", "a/b %25", None], "x": [0.5, None, -1.0]})


@pytest.fixture
def uri(s3_bucket: str) -> str:
    return f"s3://{s3_bucket}/lake/events"


@pytest.fixture
def store_options(versitygw: S3Server) -> list[str]:
    settings = {
        "s3.endpoint": versitygw.endpoint,
        "s3.access-key": versitygw.access_key,
        "s3.secret-key": versitygw.secret_key,
    }
    return [word for name, value in settings.items() for word in ("--store", f"{name}={value}")]


def rows_of(uri: str, server: S3Server, **how: Any) -> list[dict[str, Any]]:
    return sorted(product.read(uri, storage=server.settings(), **how).to_arrow().to_pylist(), key=lambda row: row["id"])


def test_rows_are_written_and_read_directly(uri: str, versitygw: S3Server) -> None:
    receipt = product.write(uri, ROWS, partition_by=["day"], storage=versitygw.settings())
    assert isinstance(receipt, product.Committed)
    assert rows_of(uri, versitygw) == ROWS.to_pylist()
    assert rows_of(uri, versitygw, where="day = 'a/b %25'", columns=["id"]) == [{"id": 2}]
    product.write(
        uri, ROWS.slice(2), mode="overwrite", where="day = 'mon' OR day IS NULL", storage=versitygw.settings()
    )
    assert [row["id"] for row in rows_of(uri, versitygw)] == [2, 3]
    assert len(rows_of(uri, versitygw, version=1)) == 3


def test_rows_are_written_by_a_bus(uri: str, versitygw: S3Server, tmp_path: Path) -> None:
    bus, settings = f"sqlite:{tmp_path}/bus.db", versitygw.settings()
    writer = product.Writer("nightly", 17)
    with product.committing(bus, settings):
        first = product.write(uri, ROWS, partition_by=["day"], bus=bus, writer=writer, storage=settings, timeout=60)
        again = product.write(uri, ROWS, bus=bus, writer=writer, storage=settings, timeout=60)
    assert isinstance(first, product.Committed)
    assert again == product.Duplicate(first.version, again.proposal_id)
    assert rows_of(uri, versitygw) == ROWS.to_pylist()


def test_refused_rows_leave_no_table(uri: str, versitygw: S3Server) -> None:
    with pytest.raises(product.InvalidInput, match="column 'x'"):
        product.write(uri, pa.table({"x": pa.array([1], pa.duration("s"))}), storage=versitygw.settings())
    with pytest.raises(product.TableNotFound):
        product.Table.open(uri, versitygw.settings())


def test_files_are_loaded_and_queried_by_commands(
    headgate: Headgate, uri: str, versitygw: S3Server, store_options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("id,day\n18446744073709551617,mon\n2,tue\n")
    ran = headgate("load", uri, tmp_path / "a.csv", "--partition-by", "day", *store_options, "--format", "json")
    assert (ran.code, ran.json["version"], ran.json["rows"]) == (0, 1, 2), ran.err
    ran = headgate("query", f"SELECT id FROM '{uri}' WHERE day = 'tue'", *store_options, "--format", "json")
    assert (ran.code, ran.json) == (0, [{"id": "2"}]), ran.err
    ran = headgate("load", uri, tmp_path / "a.csv", "--dry-run", *store_options, "--format", "json")
    assert (ran.code, ran.json["rows"]) == (0, 2), ran.err
    assert len(rows_of(uri, versitygw)) == 2
