"""The settings of a table: the name, the parsing, the default and the bounds of each.

All code that a table's configuration controls uses `options`. An unreadable text is an error that names the accepted
values.

Begin with `option_list`, which lists the settings with bounds and meaning; `options` has their defaults. A new setting
needs both.
"""
