"""The play of a soak: that of maintenance, with two committers, samples taken all the time, and restarts now and then.

One process of each kind is spared, and runs from the beginning to the end: in the others a leak would start anew.
"""

from collections.abc import Mapping
from contextlib import ExitStack

from headgate_bus.open import open_bus
from support.soak.samples import Sample
from support.soak.sampling import BUS, TABLE, Sampler
from support.torture.faults import Fault
from support.torture.maintenance_play import AMBIENT, MaintenancePlay
from support.torture.outcome import Outcome
from support.torture.play import weights_on
from support.torture.stage.scenes import Scene

COMMITTERS = 2
STAY = frozenset({"committer-0", "worker-0", "writer-0", "overwriter-0"})
WEIGHTS = {Fault.RESTART: 3, Fault.WORKER: 1, Fault.COMMITTER: 1, Fault.PRODUCER: 1}
PAUSE_S = (20.0, 60.0)
"""Between two restarts."""
WRITER_PACE_S = 0.5
"""Of each of four writers: a load that two cores carry with room to spare, for hours."""
TABLE_SETTINGS = {
    "headgate.coordinator.dedupe.window": "1",
    "headgate.coordinator.dedupe.maxIds": "1000",
    "indextables.purge.clockSkewMinutes": "1",
}
"""What a table remembers of its past fills up to bounds, and each state carries it; with the largest, it fills for days. By the
shortest window it remembers an hour of purged paths, so only what comes after an hour can be flat in all."""
HOUR_LASTS_S = 20.0
"""Of the age that the table's files are given: cleaning works all the time, at the floors that tables have."""


class SoakPlay(MaintenancePlay):
    def __init__(
        self,
        scene: Scene,
        seed: int,
        stack: ExitStack,
        *,
        every_s: float,
        pause_s: tuple[float, float] = PAUSE_S,
        hour_lasts_s: float = HOUR_LASTS_S,
    ) -> None:
        super().__init__(
            scene,
            seed,
            stack,
            committers=COMMITTERS,
            spared=STAY,
            hour_lasts_s=hour_lasts_s,
            writer_pace_s=WRITER_PACE_S,
            table_settings=TABLE_SETTINGS,
        )
        self._between_s = pause_s
        self._on = scene
        bus = open_bus(scene.bus, AMBIENT)
        stack.callback(bus.close)
        (folder,) = self.cast.tables.values()
        self._sampler = Sampler(self.cast.children, bus, folder, every_s)
        self._is_over = False

    @property
    def samples(self) -> list[Sample]:
        return self._sampler.samples

    @property
    def weights(self) -> Mapping[Fault, int]:
        return weights_on(self._on, WEIGHTS)

    @property
    def pause_s(self) -> tuple[float, float]:
        return self._between_s

    def look(self) -> None:
        super().look()
        if not self._is_over:
            self._sampler.take()

    def has_shown_enough(self, outcome: Outcome) -> bool:
        """The time is over: what the quiet end looks like says nothing of the work."""
        self._is_over = True
        return True


def stays(who: str) -> bool:
    """Whether it ran all the time, so that its growth would be seen."""
    return who in STAY | {BUS, TABLE}
