"""The bus in one SQLite file, for several processes on one machine. It is durable and needs no server.

`headgate_bus.open` imports it for `sqlite:` addresses. Appends of many threads share one transaction. A lock of the
operating system guards each seat; it is released at once when its process is killed.

Begin with `bus`, then `seat` for the committer's side and `log` for the statements. `file` owns the connection.
"""
