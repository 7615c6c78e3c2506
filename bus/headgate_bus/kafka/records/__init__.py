"""Records on Kafka: appended, published in transactions, fetched, unpacked within bounds, and read from given offsets.

Seats, followers, readers and batch jobs use it. A batch that can't be read becomes one record that says so; it never
ends the reading of a partition, and never takes more memory than its bound (docs/decisions/0015-fetched-batches.md).

Begin with `publisher` for writing and `fetching` for reading. `records` translates between the client's records and
ours.
"""
