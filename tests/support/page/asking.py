"""Asking a page what it shows just now, as a browser that has just come does."""

import json
import urllib.request
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 10.0
AWAY = {"refused", "unreadable", "waiting"}
"""What is said of a table whose store or committer is away."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The whole picture, at one moment."""

    picture: dict[str, Any]

    @property
    def bus_trouble(self) -> str:
        """Why it learns nothing from the bus; empty while it does."""
        return str(self.picture["sources"].get("bus", {"trouble": "not asked yet"})["trouble"])

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """Their rows, by their addresses."""
        return {row["uri"]: row for row in self.picture["tables"]}

    def trouble_of(self, uri: str) -> str:
        """Why it can't read the table; empty while it can."""
        return str(self.tables[uri]["trouble"])

    def is_well(self, uri: str) -> bool:
        """Whether what is shown is new: nothing stands against the bus, and the table is there and is written and read."""
        return not self.bus_trouble and uri in self.tables and not AWAY & {*self.tables[uri]["health"]}

    @property
    def outcomes(self) -> set[str]:
        """Of the newest proposals."""
        return {row["outcome"] for row in self.picture["flow"]}


class AskingPage:
    """A page that is served at this address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def shown(self) -> Shown:
        with urllib.request.urlopen(f"{self.url}/api/stream", timeout=TIMEOUT_S) as answer:
            return Shown(json.loads(next(line for line in answer if line.startswith(b"data: "))[len("data: ") :]))
