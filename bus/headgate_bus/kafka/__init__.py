"""The bus on Kafka: one object per process, its topics, its clients, and the questions that it asks of the cluster.

`headgate_bus.open` imports it for `kafka://` addresses, so that other processes need no Kafka library. Client errors
become errors of the bus room, with a remedy. No call outlives its deadline, although some of the client's own calls
know none.

Begin with `bus`. Membership of consumer groups is in `group`, the way of records through the client in `records`, and
what the client fetches is taken apart in `fetched`.
"""
