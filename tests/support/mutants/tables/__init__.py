"""Mutants of what a table's own code promises: values, columns, damage, reading and upkeep."""
