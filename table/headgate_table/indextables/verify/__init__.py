"""`verify`: looks at everything that a table's log and folder hold, and reports whatever is wrong.

`Table.verify` and `headgate table verify` call it. It changes nothing, and damage becomes a finding instead of an
error. It reads with a cache of its own.

Begin with `verify`, then `states`, which checks each state against a replay of the log.
"""
