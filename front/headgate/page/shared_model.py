"""The model of the page, shared by threads: some update it, and browsers get the changes."""

import json
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from headgate.page.page_state import PageState
from headgate.page.stream import Stream
from headgate_schemas.ambient import Ambient

PULSE_S = 0.25
"""How often browsers are told at most."""

_T = TypeVar("_T")


class Board:
    def __init__(self, ambient: Ambient) -> None:
        self._ambient = ambient
        self._lock = threading.Lock()
        self._state = PageState()
        self._picture: tuple[int, str] | None = None
        self.stream = Stream(ambient.new_id())

    def tell(self, change: Callable[[PageState, int], _T]) -> _T:
        """Update the model; the change gets the present time."""
        with self._lock:
            return change(self._state, self._ambient.now_ms())

    def pulse(self) -> None:
        """Send browsers the changes since the last call."""
        with self._lock:
            self._push()

    def picture(self) -> tuple[int, str]:
        """The whole model, and the number of the newest message that it contains."""
        with self._lock:
            self._push()
            number = self.stream.newest
            if self._picture is None or self._picture[0] != number:
                self._picture = number, _text(self._state.picture(self._ambient.now_ms()))
            return self._picture

    def _push(self) -> None:
        changes = self._state.changes(self._ambient.now_ms())
        if changes is not None:
            self.stream.push(_text(changes))


def _text(value: dict[str, Any]) -> str:
    """JSON on one line, as the stream requires; text that isn't Unicode is replaced."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
