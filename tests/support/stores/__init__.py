"""Stores for tests: one in memory, as strict as the strictest real one, and one that misbehaves on purpose."""

from support.stores.faulty import Fault, FaultyStore, Step, StepKill
from support.stores.memory import MemoryStore

__all__ = ["Fault", "FaultyStore", "MemoryStore", "Step", "StepKill"]
