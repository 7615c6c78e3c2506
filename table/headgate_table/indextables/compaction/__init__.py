"""Compaction of a state: fewer and sorted manifests with the same live entries.

The worker's role `compact` and `headgate table compact` call it. It writes new manifests and describes a swap; the
caller proposes the swap, and nothing refers to the manifests before it is accepted.

Begin with `plan` (pure), then `compactor`. `entry_layout` and `entry_pieces` bound the memory for large tables.
"""
