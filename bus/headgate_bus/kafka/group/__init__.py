"""Consumer groups on Kafka: the committer's seat, the followers of events, and how partitions are shared out and given
up.

`bus` makes seats and followers from here. A partition counts as held only after its transactional publisher is open,
which fences the holder before.

Begin with `seat` and `follower`. The short `assignor` and `deployments` are apart because the client calls the first
by itself and the second holds values only, so that both are tested without a broker.
"""
