"""Cleaning: which objects of a table or its log may be deleted, and their deletion.

`PURGE`, `TRUNCATE TIME TRAVEL`, `DROP PARTITIONS` and the worker's role `clean` call it. It deletes nothing that a
retained version or an undecided proposal needs, and nothing at all while a part of the log can't be read.

Begin with `plan` (pure), then `cleaner`, which carries a plan out. `leftovers` and `inner_tables` are short and apart
because they are pure rules about names and ages.
"""
