"""Merge engines: they write the rows of some files into one new file, in this process or on a Spark cluster.

`merging` calls one through the interface in `orders`. An engine commits nothing and deletes nothing. Its memory is bounded,
whatever the size of its sources.

Begin with `arrow`. The short `spark_…` modules are apart so that only a process that asks for Spark
imports it, and so that an executor imports no more than the task.
"""
