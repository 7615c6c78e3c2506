"""Probes the bus and the stores repeatedly, each in a thread of its own.

An unanswered probe is a finding, too, so nobody here waits for long deadlines.
"""

import threading
from collections.abc import Callable

from headgate.health.judgement import Probed
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import error_text


class Watch:
    """Knows since when its target has not answered. Threads may read it; only one runs it."""

    def __init__(self, name: str, ask: Callable[[], None], ambient: Ambient, every_s: float) -> None:
        """`ask` raises if its target is unavailable."""
        self._ask = ask
        self._ambient = ambient
        self._every_s = every_s
        self._asked = Probed(name)
        self._told_to_stop = threading.Event()

    @property
    def asked(self) -> Probed:
        return self._asked

    def start(self) -> None:
        threading.Thread(target=self._run, name="headgate-watch", daemon=True).start()

    def stop(self) -> None:
        """Stop probing. A running probe is abandoned, since it may never be answered."""
        self._told_to_stop.set()

    def ask_once(self) -> None:
        before, now_s = self._asked, self._ambient.monotonic_s()
        self._asked = Probed(before.name, before.failing_since_s, now_s, before.problem)
        try:
            self._ask()
        except Exception as error:  # noqa: BLE001 - the outermost loop of this thread; what was found is told at /readyz
            problem = error_text(error)
        else:
            self._asked = Probed(before.name)
            return
        failing_since_s = now_s if before.failing_since_s is None else before.failing_since_s
        self._asked = Probed(before.name, failing_since_s, None, problem)

    def _run(self) -> None:
        while not self._told_to_stop.is_set():
            self.ask_once()
            self._told_to_stop.wait(self._every_s)
