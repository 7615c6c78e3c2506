"""Deciding a group of proposals of one table: in order, each seeing what those before it did, for one version.

`versions` and `milvus` call it with the facts that they looked up. An answer is given to each proposal of the group, or
the group ends before it. It is pure, apart from `earlier_letters`, which reads the bus.

Begin with `grouping`; `group_so_far` is the part that both table formats share. `creation` decides for tables that
don't exist.
"""
