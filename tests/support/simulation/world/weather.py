"""What a random run may draw for its surroundings: how often calls go wrong, how committers are set, how wrong their clocks are."""

from headgate_committer.limits import CommitterLimits
from support.simulation.world.faults import CALM, Rates

WEATHER = (
    Rates(),
    Rates(),
    Rates(refused=0.02, lost_request=0.03, lost_answer=0.05, late=0.03, slow=0.02, twice=0.1, death=0.006),
    Rates(refused=0.002, lost_request=0.002, lost_answer=0.004, late=0.004, slow=0.002, twice=0.01, death=0.001),
    CALM,
)
LIMITS = (
    CommitterLimits(),
    CommitterLimits(kept_proposals=1, trim_ms=500),
    CommitterLimits(group_proposals=1, kept_proposals=5, trim_ms=5_000),
    CommitterLimits(group_proposals=3, queue_proposals=3, lane_bytes=2_000, linger_ms=50, kept_proposals=1, trim_ms=1),
)
SKEWS_MS = (0, 0, -5_000, 60_000)
"""How wrong a committer's clock is at the beginning."""
WORK_S = 600
"""Simulated seconds that the workload may take under faults; what is left is sent when all is calm."""
STEPS_SHOWN = 120
