"""Reading a log: which versions and states there are, what has to be read for one of them, and reading it.

Everything that opens a table starts here. The newest version costs one read of the pointer, one listing, one state
and the versions after it. A log that contradicts itself is refused with the names of the files.

Begin with `listing`, `resolve` (pure), `reader` and `newest`. The other modules recognise files that are not what they seem:
late, overtaken, or of another table at the same place.
"""
