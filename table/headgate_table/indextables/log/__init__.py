"""Reads a log: its versions and states, the objects that a version needs, and their contents.

Everything that opens a table starts here. The newest version costs one read of the pointer, one listing, one state and
the versions after it. A log that contradicts itself is refused with the names of the files.

Begin with `listing`, `resolve` (pure), `reader` and `newest`. The other modules recognise files that don't belong to
the log: late ones, overtaken ones, or those of another table at the same place.
"""
