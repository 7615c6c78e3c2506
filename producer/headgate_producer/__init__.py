"""Programs propose changes to a table and learn the committer's decisions.

Users call it as `headgate.Producer` and `headgate.BatchJob`. Spark's data source, workers and the command line also
propose through it. A message without acknowledgement is sent again, with the same bytes. An unknown outcome is an error
of its own and never counts as a failure.

Begin with `producer`. `delivery` carries proposals and receipts; `batch` is the job that loads a topic into a table.
"""
