"""The live page: what committers, workers and tables do, for people who look at it in a browser. Read-only.

`headgate page` and `headgate up --page` call it. It takes part in no group and changes nothing on the bus. Memory and
the cost of reading tables are bounded, whatever happens.

Begin with `page_state`, which is the model and knows no I/O. `following` and `table_reads` feed it, `routes` shows
it, and `serving` puts them together.
"""
