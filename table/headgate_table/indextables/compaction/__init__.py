"""Compaction of a state: fewer and sorted manifests with the same live entries.

The worker's role `compact` and `headgate table compact` call it. It writes new manifests and describes a swap;
whoever called it proposes that swap, and until it is accepted nothing refers to them.

Begin with `plan` (pure), then `compactor`. `entry_layout` and `entry_pieces` keep large tables within memory.
"""
