"""Streams that read a table: the rows that versions add, or the feed of all changes. For drivers, except for the rows.

`source` calls it for `readStream` and for reads with `readChangeFeed`. An offset names a version and a place in it, so
that a restarted query continues exactly where it was.

Begin with `stream`, then `feed`. `rows` is the part that runs in tasks.
"""
