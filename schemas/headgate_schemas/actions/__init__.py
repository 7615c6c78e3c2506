"""The actions of a table's log, such as an added or a removed file, as values, as JSON lines and as Avro fields.

The table room calls it whenever it reads or writes a log; messages use its values for files. Reading is tolerant of
other writers, writing is strict. The table room's `replay` applies actions to a table.

Begin with `actions`, then `action_json`. The short `avro_schemas` is apart because it alone reads the `.avsc` files.
"""
