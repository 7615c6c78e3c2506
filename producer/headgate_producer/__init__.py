"""How programs propose changes to a table and learn what became of them.

Users call it as `headgate.Producer` and `headgate.BatchJob`; Spark's data source, workers and the command line
propose through it too. A message that the bus did not acknowledge is sent again, the same each time. An outcome that
is not known is an error of its own, never taken for a failure.

Begin with `producer`. `delivery` carries proposals and receipts, `batch` is the job that takes a topic into a table.
"""
