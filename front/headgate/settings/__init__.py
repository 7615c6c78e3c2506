"""Settings of processes: read once from options, environment and a TOML file, and handed down as values.

The command line calls it. A name that is not known is refused with the nearest one that is.

Begin with `loading`; each process has a module for its own settings. `listen_address`, `token` and `health_limits` are
values that the server and the health endpoint share.
"""
