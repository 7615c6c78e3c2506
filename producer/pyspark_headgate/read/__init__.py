"""Reading a table by Spark's data source, on the driver: which version, which files, and which task reads which part.

`source` calls it for batch reads. One DataFrame sees one version, however often Spark plans it. Filters that Spark
pushes are used to leave files out; Spark applies each of them again itself.

Begin with `table_reader`, then `file_plan`.
"""
