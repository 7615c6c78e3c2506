"""A broker of one node as a process of this machine: started, killed, frozen, and started again on the same data."""

import base64
import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

from kafka.errors import KafkaError

from headgate_bus.errors import BusError
from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.kafka.clients import new_admin
from support.kafka.broker_settings import Login, as_properties, broker_settings
from support.kafka.certificates import new_login
from support.kafka.jars import provide_jars
from support.kafka.java import provide_java
from support.processes.freezing import freeze, thaw
from support.servers.processes import BROKER_PORTS, START_ATTEMPTS, ServerFailure, end, free_port, scratch_folder

START_LIMIT_S = 90.0
FORMAT_LIMIT_S = 60.0
GENTLE_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


class LocalBroker:
    """Keeps its port and its data from start to start."""

    def __init__(self, folder: Path, login: Login | None = None, *, through: int | None = None) -> None:
        """`through` is the port of a proxy before it, which clients are told instead of its own."""
        self._folder = folder
        self._login = login
        self._through = through
        self._java = provide_java()
        self._classpath = f"{provide_jars()}/*"
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """Its own, also where a proxy stands before it."""
        return self._port

    @property
    def data(self) -> Path:
        """Where its logs lie. Nobody touches them while it runs."""
        return self._folder / "data"

    @property
    def address(self) -> str:
        """Without a prefix; through the proxy, where one stands before it."""
        query = f"?{urlencode(self._login.settings(), quote_via=quote)}" if self._login else ""
        return f"kafka://127.0.0.1:{self._through or self._port}{query}"

    def start(self) -> None:
        """The first time, another process may take a port between our look and the start: then others are tried."""
        for _ in range(1 if self._port else START_ATTEMPTS):
            if not (self._folder / "server.properties").exists():
                self._format()
            self._process = self._run()
            if self._answers_in_time():
                return
            self.kill()
            (self._folder / "server.properties").unlink()
        said = self._log.read_text(errors="replace")[-2000:]
        raise ServerFailure(f"the Kafka broker didn't answer within {START_LIMIT_S} s. It said:\n{said}")

    def rebuild(self) -> None:
        """Another cluster on the same port: nothing of the first one is left."""
        self.kill()
        subprocess.run(("rm", "-rf", "--", str(self.data)), check=True)
        self._format(self._port)
        self.start()

    def kill(self) -> None:
        """Without a chance to save anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        """It keeps its connections, and answers nothing."""
        freeze(self._started())

    def thaw(self) -> None:
        thaw(self._started())

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            end(self._process)

    def _started(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "the broker was never started"
        return self._process

    def _format(self, port: int | None = None) -> None:
        self._port = port or free_port(BROKER_PORTS)
        settings = broker_settings(
            port=self._port,
            advertised_port=self._through,
            internal_port=free_port(),
            controller_port=free_port(),
            data=str(self.data),
            login=self._login,
        )
        properties = self._folder / "server.properties"
        properties.write_text(as_properties(settings))
        cluster = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        # With "=", since an id may begin with a dash.
        arguments = ("format", "--standalone", f"--cluster-id={cluster}", "-c", properties)
        ended = subprocess.run(
            (self._java, "-Xmx128m", *GENTLE_JVM, "-cp", self._classpath, "kafka.tools.StorageTool", *arguments),
            capture_output=True,
            text=True,
            timeout=FORMAT_LIMIT_S,
            check=False,
        )
        if ended.returncode != 0:
            raise ServerFailure(f"the broker's storage could not be made:\n{(ended.stdout + ended.stderr)[-2000:]}")

    def _run(self) -> "subprocess.Popen[bytes]":
        command = ("-Xms64m", "-Xmx512m", *GENTLE_JVM, "-cp", self._classpath, "kafka.Kafka")
        with self._log.open("ab") as output:
            return subprocess.Popen(
                (self._java, *command, self._folder / "server.properties"),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                env=os.environ | {"LC_ALL": "C.UTF-8"},
            )

    def _answers_in_time(self) -> bool:
        deadline = time.monotonic() + START_LIMIT_S
        while self._process is not None and self._process.poll() is None and time.monotonic() < deadline:
            if answers(self.address):
                return True
            time.sleep(0.05)
        return False


def answers(address: str) -> bool:
    """Whether a broker there tells of its cluster; an open port is not enough."""
    try:
        admin = new_admin(parse_kafka_address(address))
    except BusError:
        return False
    try:
        return bool(admin.describe_cluster()["brokers"])
    except (KafkaError, OSError):
        return False
    finally:
        admin.close()


@contextlib.contextmanager
def running_broker(*, secured: bool = False) -> Iterator[LocalBroker]:
    with scratch_folder("kafka") as folder:
        broker = LocalBroker(folder, new_login(folder) if secured else None)
        try:
            broker.start()
            yield broker
        finally:
            broker.stop()
