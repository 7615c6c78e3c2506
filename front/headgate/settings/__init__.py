"""Settings of processes: read once from options, environment and a TOML file, and passed on as values.

The command line calls it. An unknown name is refused with the nearest known one.

Begin with `loading`; each process has a module for its own settings. The server and the health endpoint share the
values in `listen_address`, `token` and `health_limits`.
"""
