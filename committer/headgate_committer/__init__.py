"""The committer: decides proposals in the order of the bus and writes versions.

A process makes one by `serving`; it calls the table room for rules and storage, and the bus for records and
transactions. Every proposal gets a receipt, and what can't be decided is kept as a dead letter. A restart decides
nothing twice, because the table itself remembers what was decided. What a single operation does to a table is decided
in the table room.

Begin with `committer` (the loop), then `partition/held_partition` and `table/table_committer`. The short modules
here, such as `rivals`, are apart because they are pure checks that tests call without a bus.
"""
