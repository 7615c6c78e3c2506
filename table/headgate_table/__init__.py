"""A table's log on a store: reads, writes, checks and repairs it, and holds the rules that every writer shares.

Users call it as `headgate.Table`. The committer, workers, producers and Spark call its parts. The rules are pure;
stores are behind one narrow interface. A version file never changes. If the answer to a write is lost, the writer reads
the object back and doesn't assume a failure.

Begin with `table`, then `indextables/log/reader` (reading), `indextables/rules/decide` (the rules) and
`indextables/write/version_writer` (the commit point).
"""
