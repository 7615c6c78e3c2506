"""What a committer needs of one table's log, whatever its format, and what both formats share.

`table` works on a table by this interface alone; `versions` and `milvus` implement it. `load` gives the table as it is
now, with all that can be done to it. Whoever finds that what was loaded counts for nothing throws it away and loads
again.

Begin with `interface`. `own_term`, `group_selection` and `commit_events` are the shared pieces.
"""
