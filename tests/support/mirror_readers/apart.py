"""The engines of another virtual environment: programs that are started when they are asked first, and asked one thing at a time."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa

from headgate.spark.java_home import java_home
from support.mirror_readers import clickhouse, delta_spark
from support.mirror_readers.reader import MirrorReader
from support.servers.processes import STOP_LIMIT_S, scratch_folder

ANSWER_LIMIT_S = 300.0
TESTS = Path(__file__).parents[2]


class EngineFailure(Exception):
    """An engine has no answer; the message says why, in its own words."""


class EngineProcess:
    """One program, which is started anew after it died."""

    def __init__(self, command: Callable[[], Sequence[str | Path]], environment: Mapping[str, str], log: Path) -> None:
        self._command = command
        self._environment = {**os.environ, "TZ": "UTC", "PYTHONPATH": str(TESTS), **environment}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, uri: str, version: int, columns: Sequence[str]) -> pa.Table:
        """`EngineFailure` with the engine's error, or when it died or took too long."""
        request = {"uri": uri, "version": version, "columns": list(columns)}
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        head, body = None, b""
        limit = threading.Timer(ANSWER_LIMIT_S, process.kill)
        limit.start()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            head = json.loads(process.stdout.readline() or "null")
            body = process.stdout.read(head.get("bytes", 0)) if head else b""
        except (OSError, ValueError):
            head = None  # it died while it was spoken with
        finally:
            limit.cancel()
        if head is None or len(body) < head.get("bytes", 0):
            self.close()
            raise EngineFailure(f"its process ended in the middle. It said:\n{self._said()}")
        if "error" in head:
            raise EngineFailure(head["error"])
        return pa.ipc.open_stream(body).read_all()

    def close(self) -> None:
        """End the process by the end of its input; where that doesn't help, by a signal."""
        if self._process is None:
            return
        process, self._process = self._process, None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.close()
        except OSError:
            process.kill()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_LIMIT_S)
        process.stdout.close()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    self._command(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=self._environment,
                )
        return self._process

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-2000:]


@contextmanager
def readers_apart(python: Path) -> Iterator[dict[str, MirrorReader]]:
    """Readers by the engines that are installed beside this Python."""
    package = __package__ or ""
    with scratch_folder("engines") as folder, ExitStack() as stack:
        chdb = EngineProcess(lambda: (python, "-m", f"{package}.chdb_program"), {}, folder / "chdb.log")
        stack.callback(chdb.close)
        spark = EngineProcess(
            lambda: (python, "-m", f"{package}.delta_spark_program", json.dumps(delta_spark.delta_settings(folder))),
            {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"},
            folder / "delta-spark.log",
        )
        stack.callback(spark.close)
        yield {
            "chdb": MirrorReader(chdb.read, holds=clickhouse.holds),
            "delta-spark": MirrorReader(spark.read, opens=delta_spark.opens, is_slow=True),
        }
