"""Loading a table from an S3 server on this machine."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from parts.measuring import Measured, repeat
from table_works.load import COLUMNS
from table_works.opening import opened
from table_works.work import DELTA, HEADGATE, Task, Work, two_sizes

BUCKET = "bench"


@contextmanager
def _s3_server() -> Iterator[Mapping[str, str]]:
    from support.servers.versitygw import running_versitygw

    with running_versitygw() as server:
        server.client().create_bucket(Bucket=BUCKET)
        yield {"endpoint": server.endpoint, "access": server.access_key, "secret": server.secret_key}


def _headgate(task: Task) -> Measured:
    uri = _uploaded(task, "headgate")
    storage = {
        "s3.endpoint": task.server["endpoint"],
        "s3.access-key": task.server["access"],
        "s3.secret-key": task.server["secret"],
    }

    def work() -> str:
        return f"{opened(uri, storage).snapshot().files(COLUMNS).num_rows:,} files"

    return repeat(task.runs, lambda: None, work)


def _delta(task: Task) -> Measured:
    from deltalake import DeltaTable

    uri = _uploaded(task, "delta")
    storage = {
        "AWS_ENDPOINT_URL": task.server["endpoint"],
        "AWS_ACCESS_KEY_ID": task.server["access"],
        "AWS_SECRET_ACCESS_KEY": task.server["secret"],
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }

    def work() -> str:
        return f"{DeltaTable(uri, storage_options=storage).get_add_actions(flatten=True).num_rows:,} files"

    return repeat(task.runs, lambda: None, work)


def _uploaded(task: Task, name: str) -> str:
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=task.server["endpoint"],
        region_name="us-east-1",
        aws_access_key_id=task.server["access"],
        aws_secret_access_key=task.server["secret"],
    )
    root, prefix = Path(task.folder), f"{name}-{task.files}"
    for path in sorted(root.rglob("*")):
        if path.is_file():
            client.upload_file(str(path), BUCKET, f"{prefix}/{path.relative_to(root).as_posix()}")
    client.close()
    return f"s3://{BUCKET}/{prefix}"


S3 = Work(
    "open and list all live files on an S3 server on loopback",
    {HEADGATE: _headgate, DELTA: _delta},
    two_sizes,
    server=_s3_server,
)
