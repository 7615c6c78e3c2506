"""The log that feeds the tables of a partition, as it was when its holder took it."""

from headgate_bus.interface import Bus, Extent, Topic
from headgate_bus.marks import KnownLog, Proof
from headgate_schemas.messages.sources import Source


class PartitionSource:
    """Made by the partition's holder. Tables are checked against it when they are loaded."""

    def __init__(self, bus: Bus, source: Source, extent: Extent, committed: int | None, known: KnownLog) -> None:
        self.bus = bus
        self.source = source
        self.extent = extent
        self.committed = committed
        """The committed offset when the partition was taken."""
        self.start = known.start
        """The offset where reading begins. Earlier proposals were announced, or are gone."""
        self.is_known = known.proof is Proof.KNOWN
        """Whether the records below it are known to be those that were settled."""
        self.was_cut = known.proof is Proof.CUT
        """Whether the log lost its end, so that offsets may mean other proposals than before."""
        self.announced = self.start
        """The offset below which everything is decided and announced."""

    def home_of(self, uri: str) -> int:
        """The partition for the table's proposals now. The bus is asked anew, because it may have more partitions."""
        self.bus.partitions(Topic.PROPOSALS)
        return self.bus.partition_of(uri)
