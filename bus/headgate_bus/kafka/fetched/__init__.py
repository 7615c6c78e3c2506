"""Batches of records that the Kafka client has fetched, taken apart within bounds in place of the client's own way.

`clients` gives it to every consumer. A batch that can't be read becomes one record that says so; it never ends the
reading of a partition, and never takes more memory than its bound (docs/decisions/0015-fetched-batches.md).

Begin with `fetching`, which replaces a part of the client, then `batches` and `unpacking`.
"""
