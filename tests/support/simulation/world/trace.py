"""What happened in a simulation, line by line: the last lines for a person, and one hash of all for comparing runs."""

import hashlib
from collections import deque

KEPT_LINES = 400
"""Enough to see how a broken invariant came about; a run has tens of thousands."""


class Trace:
    def __init__(self, start_ms: int) -> None:
        self._start_ms = start_ms
        self._last: deque[tuple[int, str, str]] = deque(maxlen=KEPT_LINES)
        self._hash = hashlib.blake2b(digest_size=16)
        self.count = 0

    def add(self, now_ms: int, who: str, what: str) -> None:
        self._last.append((now_ms, who, what))
        self._hash.update(f"{now_ms} {who} {what}\n".encode("utf-8", "surrogatepass"))
        self.count += 1

    def counted(self, what: str, who: str = "") -> int:
        """How many of the kept lines are about this, by processes whose names begin so."""
        return sum(what in line and name.startswith(who) for _, name, line in self._last)

    def digest(self) -> str:
        return self._hash.hexdigest()

    def last(self, count: int = 80) -> str:
        """The last lines, with seconds since the beginning."""
        shown = list(self._last)[-count:]
        return "\n".join(f"{(now_ms - self._start_ms) / 1000:9.3f}  {who:<14} {what}" for now_ms, who, what in shown)
