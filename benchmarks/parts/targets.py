"""What was promised of a table's log, and what a run measured of it: a table of targets."""

from collections.abc import Iterator
from dataclasses import dataclass

from parts.figures import Figures
from table_works.work import DELTA, HEADGATE


@dataclass(frozen=True, slots=True)
class Target:
    """At most `limit` milliseconds, or megabytes of `memory`; against a peer, that share of what it takes."""

    name: str
    work: str
    files: int
    limit: float
    memory: bool = False
    against: str = ""

    @property
    def unit(self) -> str:
        if self.against:
            return f"of {self.against}"
        return "MB" if self.memory else "ms"


TARGETS = (
    Target("Read 70K files from Avro state", "load", 70_000, 500),
    Target("Read 100K files", "load", 100_000, 700),
    Target("Add 100 files incrementally", "append", 70_000, 100),
    Target("Full compaction of 70K files", "compact", 70_000, 2_000),
    Target("Read 10 manifests in parallel", "manifests", 100_000, 200),
    Target("Peak memory for 100K file state", "load", 100_000, 500, memory=True),
    Target("Peak memory during compaction", "compact", 70_000, 1_000, memory=True),
    Target("State read from S3", "s3", 70_000, 2_000),
    Target("Query 1 partition from 1M file table", "partition", 1_000_000, 100),
    Target("Memory for 1 partition query (1M files)", "partition", 1_000_000, 50, memory=True),
    Target("70,000 files to Arrow", "load", 70_000, 60),
    Target("70,000 files to Arrow, beside delta-rs", "load", 70_000, 1.0, against=DELTA),
    Target("One partition of 1,000,000", "partition", 1_000_000, 25),
    Target("Memory of one partition of 1,000,000", "partition", 1_000_000, 50, memory=True),
    Target("Decide on 100 appends to 1,000,000 live files", "decide", 1_000_000, 5),
    Target("A committer's memory for 1,000,000 live files", "decide", 1_000_000, 150, memory=True),
)
"""The seed targets of the Avro state's test plan, then our own."""

HEAD = ("target", "limit", "measured", "met", "work", "files")


def measured_targets(figures: Figures) -> Iterator[tuple[str, ...]]:
    """A row for each target; one whose work was not run says so."""
    for target in TARGETS:
        limit = f"{target.limit:,g} {target.unit}"
        found = _measured(target, figures)
        shown, met = (
            ("not run", "-") if found is None else (_shown(found, target), "no" if found > target.limit else "yes")
        )
        yield (target.name, limit, shown, met, target.work, f"{target.files:,}")


def _measured(target: Target, figures: Figures) -> float | None:
    ours = figures.find(target.work, HEADGATE, target.files)
    if ours is None:
        return None
    if not target.against:
        return ours.peak_mb if target.memory else ours.median
    theirs = figures.find(target.work, target.against, target.files)
    return None if theirs is None else ours.median / theirs.median


def _shown(found: float, target: Target) -> str:
    return f"{found:,.2f} {target.unit}" if target.against else f"{found:,.1f} {target.unit}"
