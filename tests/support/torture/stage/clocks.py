"""The clock of a process under torture: off by as much as its environment says."""

import os

from headgate_schemas.ambient import SystemAmbient
from support.torture.stage.children import SKEW


class SkewedAmbient(SystemAmbient):
    """Only the wall clock: what measures how long something took goes on as it does everywhere."""

    def __init__(self, skew_s: int) -> None:
        self._skew_ms = skew_s * 1000

    def now_ms(self) -> int:
        return super().now_ms() + self._skew_ms


def skewed_ambient() -> SkewedAmbient:
    """As far off as this process was told."""
    return SkewedAmbient(int(os.environ.get(SKEW, "0")))
