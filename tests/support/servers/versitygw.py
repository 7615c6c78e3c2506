"""An S3 server whose conditional writes are right under races: versitygw, on a local folder."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headgate_table.store.settings import StoreSettings
from support.servers.go_programs import install_go_program
from support.servers.processes import running, scratch_folder
from support.servers.tool_cache import provide

VERSION = "1.8.0"  # 1.7.0 lets several writers win
MODULE = f"github.com/versity/versitygw/cmd/versitygw@v{VERSION}"


@dataclass(frozen=True, slots=True)
class S3Server:
    """Where it listens, who may use it, and the folder that holds a folder for each bucket."""

    endpoint: str
    access_key: str
    secret_key: str
    folder: Path

    def settings(self) -> StoreSettings:
        return StoreSettings(s3_endpoint=self.endpoint, s3_access_key=self.access_key, s3_secret_key=self.secret_key)

    def client(self) -> Any:
        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, connect_timeout=2),
        )


def provide_versitygw(cache: Path | None = None) -> Path:
    """The program, built from its source unless it is in the cache."""
    return provide(
        "versitygw", VERSION, "versitygw", lambda folder: install_go_program(MODULE, folder, cache=cache), cache=cache
    )


@contextlib.contextmanager
def running_versitygw() -> Iterator[S3Server]:
    program = provide_versitygw()
    access_key, secret_key = "headgate-tests", "headgate-tests-secret"

    def server(port: int, folder: Path) -> S3Server:
        return S3Server(f"http://127.0.0.1:{port}", access_key, secret_key, folder)

    with scratch_folder("versitygw") as scratch:
        data = scratch / "buckets"
        data.mkdir()
        login = ("--access", access_key, "--secret", secret_key)
        with running(
            "versitygw",
            lambda port: (program, "--port", f"127.0.0.1:{port}", *login, "--quiet", "posix", data),
            lambda port: _answers(server(port, data)),
            log=scratch / "log",
        ) as port:
            yield server(port, data)


def _answers(server: S3Server) -> bool:
    client = server.client()
    try:
        client.list_buckets()
    except (BotoCoreError, ClientError):
        return False
    finally:
        client.close()
    return True
