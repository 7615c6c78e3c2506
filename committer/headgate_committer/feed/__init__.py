"""The log of proposals that feeds tables, and whether it is the one that a table knows.

`committer` makes a `PartitionSource` when it takes a partition; `table` and `rebind` check tables against it. A bus
that was rebuilt, trimmed or restored from a copy is not believed: the table is held until an operator has looked.

Begin with `partition_source`, then `guards` for the checks and `tail` for the one that reads the bus.
"""
