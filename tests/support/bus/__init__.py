"""Buses for tests: one in memory, as strict as the strictest real one, and what the contract needs of each kind."""

from support.bus.memory import MemoryBus, MemoryCluster, MemorySeat

__all__ = ["MemoryBus", "MemoryCluster", "MemorySeat"]
