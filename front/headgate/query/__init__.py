"""`headgate query`: SQL on the rows of tables, by DataFusion, which reads only.

The command calls `running`. Files and manifests that hold no match are skipped before DataFusion begins. What is skipped never changes
a result, since DataFusion applies every condition to the rows itself.

Begin with `running`, then `table_names` (which tables a query names) and `conditions` (what it asks of each), which are pure.
"""
