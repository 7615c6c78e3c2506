"""`headgate table …`: create, read, maintain, repair and rebind one table.

`headgate.cli.main` calls it. A maintenance command runs the operator statement with the same meaning, so both do and
print the same.

Begin with `reading` and `maintenance`.
"""
