"""`headgate table …`: creating, reading, maintaining, repairing and rebinding one table.

`headgate.cli.main` calls it. Upkeep commands run the operator statement of the same meaning, so both do and print the
same.

Begin with `reading` and `maintenance`.
"""
