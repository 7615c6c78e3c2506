"""Reading one version: its live entries as Arrow, filtered soundly by partition values and statistics.

`Table.snapshot` calls it, and so does everything that needs live files. A pruned read equals a filtered full read.

Begin with `snapshot`, then `entry_reader` and `entry_filter`. The rows of the files are in `rows`. `same_version` and
`distinct_texts` are short and apart because each is one trick that several readers share.
"""
