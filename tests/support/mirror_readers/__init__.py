"""Engines that read Delta, as readers of a mirror; none of them shares code with the table.

`reader` says what a reader is, and `here` has those that live in this process: delta-rs, Polars and DuckDB. chdb, which is
ClickHouse, and delta-spark have a virtual environment of their own, which `make engines` makes. `chdb_program` and
`delta_spark_program` run there, import nothing of Headgate, and answer requests by `answering`; `apart` starts them from here
and asks them. `clickhouse` says which columns ClickHouse can hold, `delta_spark` knows the jars. `fixtures` is the plugin of
pytest that gives the readers to tests.
"""
