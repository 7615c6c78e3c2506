"""What a benchmark of commits runs beside itself: an S3 server, a delay before it, a Kafka broker, a committer, a worker."""

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from parts.commit_engines import Place

BUCKET = "bench"
STOP_LIMIT_S = 30.0


class Services:
    """Each is started when it is first needed, and ended with the `with` block."""

    def __init__(self, folder: Path | None) -> None:
        self._given = folder
        self._stack = contextlib.ExitStack()
        self._numbers = itertools.count(1)
        self._s3: dict[str, str] | None = None
        self._delayed: dict[int, str] = {}
        self._kafka: str | None = None

    def __enter__(self) -> "Services":
        self._folder = Path(
            self._stack.enter_context(tempfile.TemporaryDirectory(prefix="headgate-bench-", dir=self._given))
        )
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def table(self, where: str) -> Iterator[Place]:
        """A new place for one table: `disk`, `s3`, or `s3+60ms` for a store that is that much further away."""
        name = f"table{next(self._numbers)}"
        scratch = self._folder / name
        scratch.mkdir()
        if where == "disk":
            yield Place(uri=str(scratch / "table"), scratch=str(scratch))
        else:
            s3 = dict(self._server())
            if "+" in where:
                s3["endpoint"] = self._far(int(where.split("+")[1].removesuffix("ms")))
            yield Place(uri=f"s3://{BUCKET}/{name}", scratch=str(scratch), s3=s3)
            shutil.rmtree(Path(self._server()["folder"]) / BUCKET / name, ignore_errors=True)
        shutil.rmtree(scratch, ignore_errors=True)

    def kafka_bus(self) -> str:
        """A bus of its own on the broker that the tests would use."""
        from support.kafka.choice import broker_address, with_prefix
        from support.kafka.container_broker import engine_answers

        if self._kafka is None:
            self._kafka = self._stack.enter_context(broker_address(os.environ, engine_answers))
        return with_prefix(self._kafka, f"bench-{next(self._numbers)}-{os.getpid()}")

    @contextlib.contextmanager
    def committer(self, bus: str, place: Place) -> Iterator[int]:
        """A process as an operator would start it: its id."""
        with self._command(["committer", "--bus", bus], place) as process:
            yield process

    @contextlib.contextmanager
    def mirror_worker(self, bus: str, place: Place) -> Iterator[int]:
        """A worker with the role `mirror` alone, for the folder of the table: its id."""
        root = place.uri.rpartition("/")[0]
        with self._command(
            ["worker", "--roles", "mirror", "--set", "mirror.formats=delta", "--bus", bus, "--root", root], place
        ) as process:
            yield process

    @contextlib.contextmanager
    def _command(self, arguments: Sequence[str], place: Place) -> Iterator[int]:
        settings = {
            f"HEADGATE_STORE_{key.replace('.', '_').replace('-', '_').upper()}": v for key, v in place.headgate.items()
        }
        what = arguments[0]
        log = Path(place.scratch) / f"{what}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "headgate", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | settings,
            )
        try:
            yield process.pid
            if process.poll() is not None:
                raise SystemExit(f"the {what} ended with {process.returncode}:\n{log.read_text()[-2000:]}")
        except BaseException:
            print(log.read_text(errors="replace")[-2000:], file=sys.stderr)
            raise
        finally:
            process.terminate()
            try:
                process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _server(self) -> dict[str, str]:
        from support.servers.versitygw import running_versitygw

        if self._s3 is None:
            server = self._stack.enter_context(running_versitygw())
            server.client().create_bucket(Bucket=BUCKET)
            self._s3 = {
                "endpoint": server.endpoint,
                "access": server.access_key,
                "secret": server.secret_key,
                "folder": str(server.folder),
            }
        return self._s3

    def _far(self, delay_ms: int) -> str:
        """The endpoint of a proxy that delays what the server answers."""
        if delay_ms not in self._delayed:
            upstream = urlsplit(self._server()["endpoint"]).port
            process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("delay_proxy.py")), str(upstream), str(delay_ms)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._stack.callback(process.wait)
            self._stack.callback(process.terminate)
            assert process.stdout is not None
            self._delayed[delay_ms] = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        return self._delayed[delay_ms]
