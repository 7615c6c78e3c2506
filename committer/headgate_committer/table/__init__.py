"""One table as the committer serves it, whatever its format: sort out, decide, write one version, remember, announce.

`partition` hands over groups of proposals and takes settlements back. One thread at a time works on a table. What is
specific to a format is behind the interface of `table_backend`.

Begin with `table_committer` (the loop) and `table_backend` (the interface). `guards` and `tail` refuse a bus that is
not the one the table was fed from.
"""
