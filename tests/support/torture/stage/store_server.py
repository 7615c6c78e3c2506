"""An S3 server that can be killed and started again, on the same port and the same folder."""

import subprocess
import time
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from support.servers.processes import START_ATTEMPTS, START_LIMIT_S, ServerFailure, free_port
from support.servers.versitygw import S3Server, provide_versitygw

BUCKET = "lake"


class StoreServer:
    """Holds one bucket."""

    def __init__(self, folder: Path) -> None:
        self._program = provide_versitygw()
        self._log = folder / "store.log"
        self._data = folder / "buckets"
        self._data.mkdir()
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> int:
        return self._port

    @property
    def server(self) -> S3Server:
        return S3Server(f"http://127.0.0.1:{self._port}", "headgate-tests", "headgate-tests-secret", self._data)

    @property
    def bucket(self) -> Path:
        """Its objects lie there as plain files."""
        return self._data / BUCKET

    def start(self) -> None:
        """The first time, another process may take a port between our look and the start: then others are tried."""
        is_new = not self._port
        for _ in range(START_ATTEMPTS if is_new else 1):
            self._port = free_port() if is_new else self._port
            self._run()
            if self._answers_in_time():
                break
            self.kill()
        else:
            raise ServerFailure(f"the store didn't answer. It said:\n{self._log.read_text(errors='replace')[-2000:]}")
        if is_new:
            client = self.server.client()
            client.create_bucket(Bucket=BUCKET)
            client.close()

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _run(self) -> None:
        server = self.server
        login = ("--access", server.access_key, "--secret", server.secret_key)
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                (self._program, "--port", f"127.0.0.1:{self._port}", *login, "--quiet", "posix", self._data),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._log.parent,
            )

    def _answers_in_time(self) -> bool:
        assert self._process is not None
        client = self.server.client()
        deadline = time.monotonic() + START_LIMIT_S
        try:
            while self._process.poll() is None and time.monotonic() < deadline:
                try:
                    client.list_buckets()
                except (BotoCoreError, ClientError):
                    time.sleep(0.02)
                else:
                    return True
            return False
        finally:
            client.close()
