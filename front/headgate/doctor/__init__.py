"""`headgate doctor`: looks at this machine, the settings, a bus and a place for tables, and says how to mend what is
wrong.

`headgate.cli.doctor` calls it. Each check returns findings and raises nothing for what it finds. What it writes to
try a store, it removes.

Begin with `findings`, then any of the checkups.
"""
