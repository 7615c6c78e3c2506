"""The files of an IndexTables log as values and as bytes: names, pointer, version files, states, checkpoints, entries.

All of the room calls it. Files of every known writer are read; what is written is in the form that every known reader
takes. Bytes in, values out: no store is opened here.

Begin with `names`, `version_file` and `state_manifest`; `replay` says what versions do to a table. The short modules
each hold one rule of the format.
"""
