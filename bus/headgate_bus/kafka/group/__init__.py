"""Consumer groups on Kafka: the committer's seat, the followers of events, and the assignment of partitions.

`bus` makes seats and followers from here. A seat holds a partition only after it has opened a transactional publisher
for it, which fences the former holder.

Begin with `seat` and `follower`. The short `assignor` is apart because the client calls it by itself; so it is tested
without a broker.
"""
