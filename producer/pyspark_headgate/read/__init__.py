"""Reads a table by Spark's data source, on the driver: it chooses the version, the files, and each task's part.

`source` calls it for batch reads. One DataFrame sees one version, however often Spark plans it. Spark's pushed filters
serve to leave files out; Spark applies each of them again itself.

Begin with `table_reader`, then `file_plan`.
"""
