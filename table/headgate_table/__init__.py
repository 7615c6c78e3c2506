"""A table's log on a store."""
