"""What all parts of one committer process share: who it is, its bounds, its threads, clock and measurements."""

from concurrent.futures import Executor
from dataclasses import dataclass, field

from headgate_committer.limits import CommitterLimits
from headgate_schemas.ambient import Ambient
from headgate_schemas.measures import SILENT, Measures


@dataclass(frozen=True, slots=True)
class CommitterContext:
    """Made once for a process, and handed down unchanged."""

    ambient: Ambient
    identity: str
    """Its own for every run, as it stands in every version."""
    executor: Executor
    """Decides and writes versions, one piece of work a table at a time."""
    background: Executor
    """Writes states, and does whatever may take long. Its threads are others than the executor's, which may wait for them."""
    limits: CommitterLimits = field(default_factory=CommitterLimits)
    measures: Measures = SILENT
