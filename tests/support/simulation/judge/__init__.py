"""What a simulated run is judged by: a model that reads JSON and Avro itself, and looks at every write, delete and message.

`model` is one table as its store was told, `receipts` all that was promised, `sequence` what decisions mean one after the other.
"""
