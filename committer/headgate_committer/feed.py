"""The log that a partition's tables are fed from, as it was when its holder took it."""

from headgate_bus.interface import Bus, Extent, Topic
from headgate_schemas.sources import Source


class Feed:
    """Kept by the lane that reads the partition; tables are checked against it when they are loaded."""

    def __init__(self, bus: Bus, source: Source, extent: Extent, committed: int | None) -> None:
        self.bus = bus
        self.source = source
        self.extent = extent
        self.committed = committed
        """Up to where it was settled when it was taken."""
        is_there = committed is not None and extent.first <= committed <= extent.next_offset
        self.start = committed if committed is not None and is_there else extent.first
        """Where reading begins: what lies before was announced, or is gone."""
        self.announced = self.start
        """Up to where everything is decided and announced."""

    def home_of(self, uri: str) -> int:
        """The partition on which the table's proposals belong now. The number of partitions is asked anew: it may have grown."""
        self.bus.partitions(Topic.PROPOSALS)
        return self.bus.partition_of(uri)
