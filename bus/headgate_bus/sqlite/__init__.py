"""The bus in one SQLite file: for one machine, several processes at once, durable, with nothing to run beside them.

`headgate_bus.open` imports it for `sqlite:` addresses. Appends of many threads share one transaction. Seats are
guarded by a lock of the operating system, which a killed process gives up at once.

Begin with `bus`, then `seat` for the committer's side and `log` for the statements. `file` owns the connection.
"""
