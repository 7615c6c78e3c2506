"""The log that a partition's tables are fed from, as far as its holder knows it."""

from headgate_bus.interface import Extent
from headgate_schemas.sources import Source


class Feed:
    """Kept by the lane that reads the partition; tables are checked against it when they are loaded."""

    def __init__(self, source: Source, extent: Extent, committed: int | None) -> None:
        self.source = source
        self.extent = extent
        """From where it began when it was taken, to what was read of it since."""
        self.committed = committed
        """Up to where it was settled when it was taken."""
        is_there = committed is not None and extent.first <= committed <= extent.next_offset
        self.start = committed if committed is not None and is_there else extent.first
        """Where reading begins: what lies before was announced, or is gone."""
        self.announced = self.start
        """Up to where everything is decided and announced."""

    def reached(self, next_offset: int) -> None:
        """More was read."""
        if next_offset > self.extent.next_offset:
            self.extent = Extent(self.extent.first, next_offset)
