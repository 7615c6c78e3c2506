"""The `headgate` command. What it does is done elsewhere; here it is asked for, shown and explained.

Each module is one command or a group of commands. Imports that cost time are made inside of functions, because
`--help` and completion must be quick. The short `asking` has only the help of `headgate health`: the entry point runs
that command without loading this package.

Begin with `main`, which lists the commands.
"""
