"""A table's log on a store: reading, writing, checking and mending it, and the rules that every writer shares.

Users call it as `headgate.Table`. The committer, workers, producers and Spark call its parts. The rules decide
purely; stores are behind one narrow interface. No version file ever changes, and a lost answer is read back instead
of taken for a failure.

Begin with `table`, then `indextables/log/reader` (reading), `indextables/rules/decide` (the rules) and
`indextables/write/version_writer` (the commit point).
"""
