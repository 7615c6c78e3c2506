"""The IndexTables V4 log: read, pruned, travelled, written, checked."""
