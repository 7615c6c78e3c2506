"""Jars that tests need: those that a lock names, with its SHA-256 sums, and no others, kept in the user's cache directory."""

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from support.servers.tool_cache import ToolFailure, provide, run

MIRROR_SETTING = "HEADGATE_MAVEN_URL"
"""Names a mirror of Maven Central, where the way to it is barred. What comes from it is checked all the same."""
PARALLEL = 4
WHOLE = "whole"
"""The file that is written when every jar is there and right."""


@dataclass(frozen=True, slots=True)
class Jar:
    coordinate: str
    """group:artifact:version"""
    sha256: str

    @property
    def file_name(self) -> str:
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"


def locked_jars(text: str) -> list[Jar]:
    return [Jar(*line.split()) for line in text.splitlines() if line]


def provide_jars(name: str, version: str, lock: Path, cache: Path | None = None) -> Path:
    """A folder of that tool's jars, downloaded unless the cache holds them all, unharmed."""
    jars = locked_jars(lock.read_text())

    def download(folder: Path) -> None:
        _download(jars, folder, f"{name} {version}", lock)

    product = provide(name, version, WHOLE, download, cache=cache)
    if wrong_jars(jars, product.parent):
        # Whatever harmed them, the next attempt must not take them for whole.
        product.unlink()
        product = provide(name, version, WHOLE, download, cache=cache)
    return product.parent


def wrong_jars(jars: Sequence[Jar], folder: Path) -> list[str]:
    return [jar.file_name for jar in jars if _sha256(folder / jar.file_name) != jar.sha256]


def _download(jars: Sequence[Jar], folder: Path, tool: str, lock: Path) -> None:
    with ThreadPoolExecutor(PARALLEL) as threads:
        list(threads.map(lambda jar: _fetch(jar, folder / jar.file_name), jars))
    wrong = wrong_jars(jars, folder)
    if wrong:
        shutil.rmtree(folder)
        raise ToolFailure(f"these jars of {tool} are not what {lock.name} says: {', '.join(wrong)}")
    (folder / WHOLE).write_text("\n".join(jar.sha256 for jar in jars))


def _fetch(jar: Jar, target: Path) -> None:
    # The package knows where Maven Central is.
    mirror = os.environ.get(MIRROR_SETTING, "")
    where = ("--maven-repo", mirror) if mirror else ()
    run(sys.executable, "-m", "maven_artifact.main", *where, jar.coordinate, target)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
