"""The bus on Kafka: one object per process, its topics, its clients, and its questions to the cluster.

`headgate_bus.open` imports it for `kafka://` addresses, so that other processes need no Kafka library. Errors of the
client become errors of the bus, with a remedy. Every call ends by its deadline, although some calls of the client have
none.

Begin with `bus`. `group` is the membership of consumer groups, `records` sends and reads records, and `fetched` unpacks
the batches that the client fetches.
"""
