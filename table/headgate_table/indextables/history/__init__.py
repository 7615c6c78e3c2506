"""The history of a table: its versions and their times, changes between two of them, and descriptions for people.

`Table.history`, `Table.changes`, time travel and the `DESCRIBE` statements call it, and Spark's change feed. It only
reads.

Begin with `travel`, then `history` and `changes`.
"""
