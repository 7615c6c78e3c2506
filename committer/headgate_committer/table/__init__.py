"""One table as the committer serves it, whatever its format: triage, decide, write one version, remember, announce.

`partition` hands over groups of proposals and takes settlements back. One thread at a time works on a table. What is
specific to a format is behind the interface in `backend`.

Begin with `table_committer` (the loop).
"""
