"""An `Ambient` that remembers how long it was asked to sleep, and doesn't."""

from headgate_schemas.ambient import SystemAmbient


class RestlessAmbient(SystemAmbient):
    """The real clock and ids, no jitter, and sleep in no time."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)

    def jitter(self) -> float:
        return 0.5
