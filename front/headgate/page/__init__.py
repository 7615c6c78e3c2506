"""The live page: it shows committers, workers and tables in a browser. Read-only.

`headgate page` and `headgate up --page` call it. It joins no group and changes nothing on the bus. Memory and the cost
of reading tables are always bounded.

Begin with `page_state`, the model, which does no I/O. `following` and `table_reads` feed it, `routes` shows it, and
`serving` composes them.
"""
