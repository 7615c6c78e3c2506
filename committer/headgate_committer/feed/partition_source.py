"""The log that a partition's tables are fed from, as it was when its holder took it."""

from headgate_bus.interface import Bus, Extent, Topic
from headgate_bus.marks import KnownLog, Proof
from headgate_schemas.messages.sources import Source


class PartitionSource:
    """Kept by the lane that reads the partition; tables are checked against it when they are loaded."""

    def __init__(self, bus: Bus, source: Source, extent: Extent, committed: int | None, known: KnownLog) -> None:
        self.bus = bus
        self.source = source
        self.extent = extent
        self.committed = committed
        """Up to where it was settled when it was taken."""
        self.start = known.start
        """Where reading begins: what lies before was announced, or is gone."""
        self.is_known = known.proof is Proof.KNOWN
        """Whether everything before that is as it was when it was settled."""
        self.was_cut = known.proof is Proof.CUT
        """Whether the log lost its end, so that offsets may mean other proposals than before."""
        self.announced = self.start
        """Up to where everything is decided and announced."""

    def home_of(self, uri: str) -> int:
        """The partition on which the table's proposals belong now. The number of partitions is asked anew: it may have grown."""
        self.bus.partitions(Topic.PROPOSALS)
        return self.bus.partition_of(uri)
