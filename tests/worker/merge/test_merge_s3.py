"""A merge on an S3 server: sources by ranges, the output by way of a nameless local file."""

from pathlib import Path

from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.open import open_store
from headgate_worker.merge.report import MergeStatus
from support.merging import append_small, data_files, merge, new_parquet_table, rows_of
from support.servers.versitygw import S3Server


def test_a_table_in_a_bucket_is_merged(versitygw: S3Server, s3_bucket: str, tmp_path: Path) -> None:
    store = open_store(f"s3://{s3_bucket}/lake/table", versitygw.settings(), SystemAmbient())
    table = new_parquet_table(store)
    files = append_small(table, 5, rows=2000)
    before = rows_of(table)
    report = merge(table, scratch_folder=str(tmp_path))
    assert (report.status, rows_of(table)) == (MergeStatus.SUCCESS, before)
    held = {path for path in data_files(store) if not path.startswith("_headgate/")}
    assert held == {*table.snapshot().paths(), *(file.path for file in files)}
    assert list(tmp_path.iterdir()) == []
