"""Cleaning: what may be deleted from a table or its log, and deleting it, with all that must be left alone.

`PURGE`, `TRUNCATE TIME TRAVEL`, `DROP PARTITIONS` and the worker's role `clean` call it. Nothing that a retained
version or an undecided proposal needs is deleted, and nothing at all while a part of the log can't be read.

Begin with `plan` (pure), then `cleaner`, which carries a plan out. `leftovers` and `inner_tables` are short and apart
because they are pure rules about names and ages.
"""
