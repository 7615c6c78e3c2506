"""The storage library of Milvus as it was published, fetched into the tool cache and asked in a process of its own.

The process is a child that runs `library_program`: a crash of the library is a failed answer, never the end of the tests.
"""

import ctypes
import json
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.servers.tool_cache import ToolFailure, install_python_package, provide

VERSION = "0.1.0.dev1"
SHA256 = "710f90b471d352d3a613e2addda2235c4b4d72fe0281db75ee409d9b9abd3bda"
PRODUCT = "milvus_storage/lib/libmilvus-storage.so"

# The library wants liblzma, and doesn't bring it. Where the machine has none, that of another package serves.
_LZMA_PACKAGE = "pillow"
_LZMA_VERSION = "11.3.0"

ANSWER_LIMIT_S = 120

_PROGRAM = Path(__file__).with_name("library_program.py")


class LibraryCrashed(Exception):
    """The library's process ended without an answer."""


def provide_library() -> Path:
    """The shared object. It exists for Linux on x86-64 with glibc 2.35 or newer only."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise ToolFailure(
            f"the published library of Milvus runs on Linux on x86-64, not on {sys.platform} on {platform.machine()}: run "
            f"these tests there"
        )
    return provide(
        "milvus-storage",
        VERSION,
        PRODUCT,
        lambda folder: install_python_package(f"milvus-storage=={VERSION}", folder, sha256=SHA256),
    )


def provide_lzma() -> str:
    """What to load liblzma by: the machine's own, or one from the cache."""
    try:
        ctypes.CDLL("liblzma.so.5")
    except OSError:
        return str(packaged_lzma())
    return "liblzma.so.5"


def packaged_lzma() -> Path:
    def fetch(folder: Path) -> None:
        install_python_package(f"{_LZMA_PACKAGE}=={_LZMA_VERSION}", folder)
        (found,) = (folder / "pillow.libs").glob("liblzma-*.so.*")
        found.rename(folder / "liblzma.so.5")

    return provide("liblzma", _LZMA_VERSION, "liblzma.so.5", fetch)


def ask_library(requests: Sequence[Mapping[str, Any]], *, lzma: str | None = None) -> list[dict[str, Any]]:
    """The answers to all requests, given by one process in their order; a request that fails is answered by `error`."""
    command = [sys.executable, str(_PROGRAM), str(provide_library()), lzma or provide_lzma()]
    try:
        done = subprocess.run(
            command, input=json.dumps(requests).encode(), capture_output=True, timeout=ANSWER_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise LibraryCrashed(f"the library gave no answer in {ANSWER_LIMIT_S} s") from error
    if done.returncode != 0:
        raise LibraryCrashed(f"the library's process ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def read_by_library(root: Path, base: str, version: int = -1) -> dict[str, Any]:
    (answer,) = ask_library([{"do": "read", "root": str(root), "base": base, "version": version}])
    return answer
