"""The `headgate` command: it parses options, calls the other packages, and prints their results.

Each module is one command or a group of commands. Slow imports are inside of functions, because `--help` and completion
must be quick. The short `asking` has only the help of `headgate health`: the entry point runs that command without
loading this package.

Begin with `main`, which lists the commands.
"""
