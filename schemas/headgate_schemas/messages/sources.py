"""The source of proposals: the log that an offset belongs to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """One partition of one topic of one cluster. Offsets of different sources are never compared."""

    cluster: str
    topic: str
    """The topic's id: its name may be used again for another topic."""
    partition: int

    def __str__(self) -> str:
        return f"partition {self.partition} of topic {self.topic} in cluster {self.cluster}"
