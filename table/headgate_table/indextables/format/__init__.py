"""The files of an IndexTables log as values and as bytes: names, pointer, version files, states, checkpoints, entries.

All of the room calls it. It reads files of every known writer, and writes the form that every known reader accepts.
Bytes in, values out: it opens no store.

Begin with `names`, `version_file` and `state_manifest`; `replay` applies versions to a table. The short modules each
hold one rule of the format.
"""
