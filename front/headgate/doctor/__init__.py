"""`headgate doctor`: checks this machine, the settings, a bus and a place for tables, and names the remedies.

`headgate.cli.doctor` calls it. Each check returns findings, and raises nothing for a problem that it finds. It removes
the objects that it writes to test a store.

Begin with `findings`, then any of the checkups.
"""
