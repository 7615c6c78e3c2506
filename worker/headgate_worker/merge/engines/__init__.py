"""Merge engines write the rows of several files into one new file, in this process or on a Spark cluster.

`merging` calls an engine through the interface in `orders`. An engine commits nothing and deletes nothing. Its memory
is bounded, whatever the size of its sources.

Begin with `arrow`. The short `spark_…` modules are apart, so that only processes that use Spark import it, and an
executor imports no more than the task.
"""
