"""Consumer groups on Kafka: the committer's seat, the followers of events, and how partitions are shared out and given
up.

`bus` makes seats and followers from here. A partition counts as held only after its transactional publisher is open,
which fences the holder before.

Begin with `seat` and `follower`. The short `assignor` is apart because the client calls it by itself, so that it is
tested without a broker.
"""
