"""The services of compose.yaml as processes of this machine: same settings, same commands, but free ports on loopback.

What an image does with its settings before its program starts is done here, too; nothing else is added.
"""

import contextlib
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from support.compose.parsing import Service
from support.kafka.jars import provide_jars
from support.kafka.java import provide_java
from support.kafka.local_broker import GENTLE_JVM, answers
from support.servers.processes import BROKER_PORTS, ServerFailure, end, free_port
from support.servers.versitygw import provide_versitygw

START_LIMIT_S = 90.0
COMMAND_LIMIT_S = 120.0
ANSWER_LIMIT_S = 10.0
NOT_SETTINGS = {"KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_LOG4J_OPTS"}
"""Read by the scripts that start Java."""


class Swaps:
    """What stands in the file, and what stands for it here: addresses of containers, and folders inside of them."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self._pairs = dict(pairs)

    def __call__(self, text: str) -> str:
        for inside, outside in self._pairs.items():
            text = text.replace(inside, outside)
        return text

    def listening(self, inside: str, port: int) -> "Swaps":
        """What listens at this port of all addresses of its container does so on a free one of loopback."""
        here = f"127.0.0.1:{port}"
        return Swaps(self._pairs | {f"0.0.0.0:{inside}": here, f"127.0.0.1:{inside}": here})

    def environment(self, service: Service) -> dict[str, str]:
        """The service's own, and what a process on this machine needs to find its programs and our packages."""
        own = {name: self(value) for name, value in service.environment.items()}
        return {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ} | own


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    said: str


def run_to_end(service: Service, command: tuple[str, ...], swaps: Swaps, folder: Path) -> Ended:
    """A command of a service, in a folder of its own."""
    done = subprocess.run(
        [_program(command[0]), *map(swaps, command[1:])],
        env=swaps.environment(service),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=COMMAND_LIMIT_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout + done.stderr)


def _program(name: str) -> str:
    """The image finds Python and Headgate on its PATH; here they are those that run the tests."""
    match name:
        case "python":
            return sys.executable
        case "headgate":
            return str(Path(sys.executable).with_name("headgate"))
        case _:
            return name


@contextlib.contextmanager
def running_service(
    service: Service, command: tuple[str, ...], swaps: Swaps, folder: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """A service that stays, in a folder of its own; what it says is in the file `log` beside the folder."""
    with _log_of(folder).open("wb") as log:
        process = subprocess.Popen(
            [_program(command[0]), *map(swaps, command[1:])],
            env=swaps.environment(service),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        end(process)


def _log_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.log")


def wait_until_said(log: Path, word: str, process: "subprocess.Popen[bytes]") -> None:
    """Until the process has written it, or `ServerFailure` when it ended or took too long."""
    deadline = time.monotonic() + START_LIMIT_S
    while word not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServerFailure(f"{word!r} was never said, but:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def set_up_store(service: Service, user: str, data: Path) -> None:
    """What is done once with the store's volume; the user of the store is whoever runs the tests."""
    swaps = Swaps({"/data": str(data), user: f"{os.getuid()}:{os.getgid()}"})
    done = run_to_end(service, service.entrypoint + service.command, swaps, data)
    if done.code != 0:
        raise ServerFailure(f"{service.name} ended with {done.code}: {done.said}")


@contextlib.contextmanager
def running_store(service: Service, data: Path) -> Iterator[int]:
    """The port of the store. Its image makes a command of the settings that name the backend."""
    port = free_port()
    settings = service.environment
    swaps = Swaps({settings["VGW_PORT"]: f"127.0.0.1:{port}", settings["VGW_BACKEND_ARG"]: str(data)})
    command = (str(provide_versitygw()), settings["VGW_BACKEND"], settings["VGW_BACKEND_ARG"])
    health = f"http://127.0.0.1:{port}{settings['VGW_HEALTH']}"
    with running_service(service, command, swaps, data.parent) as process:
        _wait_until_up(process, _log_of(data.parent), lambda: _is_healthy(health))
        yield port


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_LIMIT_S) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except OSError:
        return False


@contextlib.contextmanager
def running_broker_of(service: Service, folder: Path) -> Iterator[dict[str, str]]:
    """By the address inside of the network of containers, the one here, of every listener for clients."""
    settings, found = _local(properties(service), folder)
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    java = (str(provide_java()), *service.environment["KAFKA_HEAP_OPTS"].split(), *GENTLE_JVM)
    java += ("-cp", f"{provide_jars()}/*")
    cluster = service.environment["CLUSTER_ID"]
    made = subprocess.run(
        (*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(file)),
        capture_output=True,
        text=True,
        timeout=COMMAND_LIMIT_S,
        check=False,
    )
    if made.returncode != 0:
        raise ServerFailure(f"the storage of {service.name} could not be made:\n{(made.stdout + made.stderr)[-2000:]}")
    with running_service(service, (*java, "kafka.Kafka", str(file)), Swaps({}), folder) as process:
        addresses = [f"kafka://{address}" for address in found.values()]
        _wait_until_up(process, _log_of(folder), lambda: all(map(answers, addresses)))
        yield found


def _wait_until_up(process: "subprocess.Popen[bytes]", log: Path, is_up: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while not is_up():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServerFailure(f"{process.args!r} didn't answer. It said:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


def properties(service: Service) -> dict[str, str]:
    """The image's rule: KAFKA_LOG_DIRS becomes log.dirs."""
    return {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in service.environment.items()
        if name.startswith("KAFKA_") and name not in NOT_SETTINGS
    }


def _local(settings: Mapping[str, str], folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The settings on free ports of loopback, and what became of the addresses that clients are told."""
    ports = {name: free_port(BROKER_PORTS) for name in _by_listener(settings["listeners"])}
    advertised = _by_listener(settings["advertised.listeners"])
    controller = ports[settings["controller.listener.names"]]
    voter, _, _ = settings["controller.quorum.voters"].partition("@")
    local = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    changed = {
        "listeners": ",".join(f"{name}://{address}" for name, address in local.items()),
        "advertised.listeners": ",".join(f"{name}://{local[name]}" for name in advertised),
        "controller.quorum.voters": f"{voter}@127.0.0.1:{controller}",
        "log.dirs": str(folder / "data"),
    }
    return {**settings, **changed}, {address: local[name] for name, address in advertised.items()}


def _by_listener(text: str) -> dict[str, str]:
    """From `INSIDE://:19092,OUTSIDE://:9092`, the address of each."""
    return dict(part.split("://") for part in text.split(","))
