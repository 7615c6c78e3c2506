"""The benchmark of commits runs, and its parts measure what they say; what it measures here means nothing."""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from headgate_schemas.ambient import SystemAmbient
from support.servers.scripted import Answer, scripted_server

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
DELAY_MS = 200
AMBIENT = SystemAmbient()


@pytest.fixture
def far_server() -> Iterator[str]:
    """A server that answers with as many bytes as it was sent, behind the proxy."""
    with scripted_server(lambda request: Answer(200, request.body)) as endpoint:
        program = [
            sys.executable,
            str(BENCHMARKS / "parts/delay_proxy.py"),
            str(urlsplit(endpoint).port),
            str(DELAY_MS),
        ]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
            process.terminate()


def test_the_benchmark_prints_a_row_for_each_figure(tmp_path: Path) -> None:
    small = [
        "--places",
        "disk",
        "--proposers",
        "3",
        "--files",
        "2",
        "--seconds",
        "5",
        "--warm-up",
        "0.2",
        "--runs",
        "1",
        "--stream",
        "20",
    ]
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "commit.py"), "--engines", "headgate sqlite", *small, "--folder", tmp_path],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [writers, stream] = re.findall(r"^disk +(\d+) +(\d+)  headgate sqlite +([\d,.]+)", done.stdout, re.MULTILINE)
    assert (writers[:2], stream[:2]) == (("3", "2"), ("1", "1"))
    assert float(writers[2].replace(",", "")) > 0
    assert list(tmp_path.iterdir()) == []


def test_the_proxy_hands_on_every_byte(far_server: str) -> None:
    body = bytes(range(256)) * 4000
    with urllib.request.urlopen(far_server, data=body, timeout=30) as answer:
        assert answer.read() == body


def test_the_proxy_makes_every_answer_late(far_server: str) -> None:
    begun_s = AMBIENT.monotonic_s()
    with urllib.request.urlopen(far_server, data=b"x", timeout=30) as answer:
        answer.read()
    assert AMBIENT.monotonic_s() - begun_s >= DELAY_MS / 1000
