"""Unpacks the batches of records that the Kafka client has fetched, within bounds, in place of the client's own code.

`clients` installs it in every consumer. A batch that can't be unpacked becomes one record with the reason. It never
ends the reading of a partition, and never takes more memory than its bound (docs/decisions/0015-fetched-batches.md).

Begin with `fetching`, which replaces a part of the client, then `batches` and `unpacking`.
"""
