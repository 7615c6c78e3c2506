"""`verify`: checks all objects of a table's log and folder, and reports all faults.

`Table.verify` and `headgate table verify` call it. It changes nothing, and damage becomes a finding instead of an
error. It reads with a cache of its own.

Begin with `verify`, then `states`, which compares each state with a replay of the log.
"""
