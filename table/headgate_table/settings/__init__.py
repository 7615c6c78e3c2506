"""The settings of a table: how each is spelled, how its text is read, its default and its bounds.

Everything that a table's configuration controls asks `options`. A text that can't be read is an error that names what
the setting takes.

Begin with `option_list`; that is where a setting is added.
"""
