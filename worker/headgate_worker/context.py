"""The values that all parts of one worker process share: identity, bounds, threads, clock and measurements."""

from concurrent.futures import Executor
from dataclasses import dataclass, field

from headgate_schemas.ambient import Ambient
from headgate_schemas.measures import SILENT, Measures
from headgate_worker.limits import WorkerLimits


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """Made once for each process, and passed on unchanged."""

    ambient: Ambient
    identity: str
    """Its own for every run."""
    executor: Executor
    """Plans for tables and runs tasks, side by side."""
    limits: WorkerLimits = field(default_factory=WorkerLimits)
    measures: Measures = SILENT
