"""The manifests of a state: fetched and decoded in parallel, skipped by their bounds, read end to end, or searched for
paths.

`read`, `rules`, `compaction` and `history` call it. Skipping is sound: a manifest that may hold a match is never
skipped.

Begin with `reader`, then `pruning` and `path_index`. `runs` is for work on whole states in bounded memory.
"""
