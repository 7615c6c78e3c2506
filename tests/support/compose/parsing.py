"""compose.yaml as the library that Docker Compose itself reads it with understands it: checked, merged, interpolated."""

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.servers.go_programs import build_go_program
from support.servers.tool_cache import provide

SOURCES = Path(__file__).with_name("parser")
PRODUCT = "compose-parser"
LIMIT_S = 60


class ComposeError(Exception):
    """The parser refused the file; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Service:
    """One service of the file, with every variable filled in."""

    name: str
    body: Mapping[str, Any]

    @property
    def image(self) -> str:
        return str(self.body.get("image", ""))

    @property
    def command(self) -> tuple[str, ...]:
        return _words(self.body.get("command"))

    @property
    def entrypoint(self) -> tuple[str, ...]:
        return _words(self.body.get("entrypoint"))

    @property
    def health_command(self) -> tuple[str, ...]:
        """Without the word that says how it is run."""
        return _words((self.body.get("healthcheck") or {}).get("test"))[1:]

    @property
    def environment(self) -> dict[str, str]:
        return {name: "" if value is None else str(value) for name, value in self.body.get("environment", {}).items()}

    @property
    def depends_on(self) -> dict[str, str]:
        """The services that must be there before, and in which condition."""
        return {name: str(how["condition"]) for name, how in self.body.get("depends_on", {}).items()}

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(self.body.get("profiles", ()))


@dataclass(frozen=True, slots=True)
class ComposeFile:
    services: Mapping[str, Service]
    volumes: frozenset[str]


def provide_compose_parser(cache: Path | None = None) -> Path:
    """The program, built from its source unless the cache holds one of the same source."""
    return provide(
        PRODUCT,
        _version(),
        PRODUCT,
        lambda folder: build_go_program(SOURCES, folder / PRODUCT, cache=cache),
        cache=cache,
    )


def _version() -> str:
    digest = hashlib.sha256()
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def parse(path: Path, environment: Mapping[str, str]) -> ComposeFile:
    """Services of every profile. Raises `ComposeError` for what Docker Compose would refuse.

    Variables come from `environment` alone: neither those of this process nor an `.env` file get in.
    """
    program = provide_compose_parser()
    done = subprocess.run(
        [program, path],
        env=dict(environment),
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise ComposeError(done.stderr.strip())
    model = json.loads(done.stdout)
    return ComposeFile(
        services={name: Service(name, body) for name, body in model["services"].items()},
        volumes=frozenset(model.get("volumes", {})),
    )


def _words(value: object) -> tuple[str, ...]:
    match value:
        case None:
            return ()
        case str():
            raise ComposeError(f"{value!r} is one text; write a list of words, which no shell takes apart")
        case Sequence():
            return tuple(map(str, value))
        case _:
            raise ComposeError(f"{value!r} is no list of words")
