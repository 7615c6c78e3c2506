"""The ordered log between processes, on Kafka or in an SQLite file on one machine. Bytes and offsets only.

Producers append proposals. A committer holds a seat, reads proposals, and publishes events together with its offset
in one transaction. Workers follow events. Every call ends by its deadline or raises; a holder that lost its partition
is fenced.

Begin with `interface`, which both implementations keep, and `open`, which turns an address into a bus. `claims` puts
large operations on the table's store. `marks` tells whether a log is still the one that was read before.
"""
