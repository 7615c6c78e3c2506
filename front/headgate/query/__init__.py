"""`headgate query`: SQL on the rows of tables, by DataFusion. Read-only.

The command calls `running`. Files and manifests without a match are skipped before DataFusion begins. Skipping never
changes a result, since DataFusion applies every condition to the rows itself.

Begin with `running`, then `table_names` (the tables of a query) and `conditions` (its conditions on each), which are
pure.
"""
