"""Merges small data files of a partition into larger ones with the same rows.

It has three callers: the worker's role `merge`; `MERGE SPLITS` and `headgate table merge`; and merges right after a
write. An output is live only after its proposal was accepted; no log names the leftovers of a killed process. A source
that can't be merged is left alone for a while and recorded in the log.

Begin with `plan` (pure), then `merging` and `sources`. `skips` makes a skip (pure), and `skipping` proposes it.
"""
