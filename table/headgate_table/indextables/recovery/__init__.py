"""What a table remembers, recovered from its log alone: for a committer that starts, and for authors who lost the bus.

The committer calls it at its first look at a table, producers when no receipt came. It reads the newest state that
carries the memory, and the versions after it.

Begin with `memory_reader`.
"""
