"""Recovers a table's memory from its log alone: for a starting committer, and for authors who lost the bus.

The committer calls it at its first look at a table, producers when no receipt came. It reads the newest state that
holds the memory, and the versions after it.

Begin with `memory_reader`.
"""
