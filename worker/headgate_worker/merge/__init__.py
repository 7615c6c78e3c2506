"""Merging small data files of a partition into larger ones with the same rows.

Three callers: the worker's role `merge`, `MERGE SPLITS` and `headgate table merge`, and merges right after a write.
An output is live only after its proposal was accepted; what a killed process leaves is named by no log. A source that
can't be merged is left alone for a while and named in the log.

Begin with `plan` (pure), then `merging` and `sources`. The short `skips` is apart from `skipping` because it is pure
and the other one commits.
"""
