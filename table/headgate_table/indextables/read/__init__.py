"""Reads one version: its live entries as Arrow, filtered soundly by partition values and statistics.

`Table.snapshot` calls it, and so does all code that needs live files. A pruned read equals a filtered full read.

Begin with `snapshot`, then `entry_reader` and `entry_filter`. `rows` reads the rows of the files. `same_version` and
`distinct_texts` are short and apart because several readers share each of them.
"""
