"""What a producer must still know after kill -9: what it was about to propose, and the receipts that it was given."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Told = tuple[str, int | str]
"""A receipt without its words: ("committed", version), ("duplicate", version) or ("rejected", code)."""


@dataclass(slots=True)
class Diary:
    """A journal as it was read: by proposal id, the step that it belongs to, and all receipts that came."""

    intents: dict[str, int] = field(default_factory=dict)
    receipts: dict[str, list[Told]] = field(default_factory=dict)

    @property
    def unanswered(self) -> list[str]:
        return [identity for identity in self.intents if identity not in self.receipts]

    @property
    def next_step(self) -> int:
        return max(self.intents.values(), default=-1) + 1


class Journal:
    """Appends to a file. What was written when the process is killed stays; the last line may be torn."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def intend(self, identity: str, step: int) -> None:
        self._write({"intent": identity, "step": step})

    def note(self, identity: str, told: Told) -> None:
        self._write({"receipt": identity, "told": told})

    def close(self) -> None:
        os.close(self._file)

    def _write(self, line: dict[str, Any]) -> None:
        # The line break comes first, so that a torn line never spoils the next.
        os.write(self._file, b"\n" + json.dumps(line).encode())


def read_journal(path: Path) -> Diary:
    diary = Diary()
    for line in _whole_lines(path):
        if "intent" in line:
            diary.intents.setdefault(line["intent"], line["step"])
        else:
            kind, what = line["told"]
            diary.receipts.setdefault(line["receipt"], []).append((kind, what))
    return diary


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            if line:
                yield json.loads(line)
        except ValueError:
            continue  # torn by a kill: what it was about to say had not happened yet, or happens again
