"""The origin of a batch job: the topic and cluster that it reads, and its first offset in each partition.

It lies beside the table. `start` applies to the partitions that exist at the first run; later ones begin with their
first record.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from headgate_bus.interface import Extent
from headgate_producer.batch.kept import job_key, keep
from headgate_producer.batch.marks import RecordMark
from headgate_producer.batch.record_source import TopicIdentity
from headgate_producer.errors import JobStopped
from headgate_schemas.errors import InvalidInput
from headgate_table.store.interface import Store

Start = Literal["earliest", "latest"] | Mapping[int, int]

_MAX_BYTES = 4 << 20
"""Some 30,000 partitions."""


MarkBefore = Callable[[int, int], RecordMark | None]
"""Of the record before an offset of a partition, as far as there is one close by."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The job's first offset in a partition."""

    offset: int
    before: RecordMark | None = None
    """Of the last record before it, which the job does without."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The topic that the records come from."""

    topic: TopicIdentity
    starts: Mapping[int, Beginning]
    """By partition."""


def origin_key(job: str, topic: str) -> str:
    return job_key(f"{job}/{topic}/origin")


def is_other(known: TopicIdentity, seen: TopicIdentity) -> bool:
    """Whether it is another topic. Old brokers don't report all ids: an id that one of the two lacks is not compared."""
    pairs = ((known.cluster, seen.cluster), (known.topic_id, seen.topic_id))
    return any(old is not None and new is not None and old != new for old, new in pairs)


def begun(
    known: Origin | None, seen: TopicIdentity, extents: Mapping[int, Extent], start: Start, before: MarkBefore
) -> Origin:
    """The origin with new partitions added. For partitions that come later, `start` applies only if it names an offset."""
    if known is None:
        return Origin(seen, {each: _beginning(each, extents[each], start, before) for each in extents})
    named: Start = "earliest" if isinstance(start, str) else start
    new = {each: _beginning(each, extents[each], named, before) for each in extents if each not in known.starts}
    topic = replace(
        known.topic, cluster=known.topic.cluster or seen.cluster, topic_id=known.topic.topic_id or seen.topic_id
    )
    return Origin(topic, {**known.starts, **new})


def remember(
    store: Store,
    job: str,
    topic: str,
    seen: TopicIdentity,
    extents: Mapping[int, Extent],
    start: Start,
    before: MarkBefore,
) -> Origin:
    """The job's origin, for all partitions of `extents`. Raises `JobStopped` if the topic is another one."""
    key = origin_key(job, topic)

    def choose(found: bytes | None) -> bytes | None:
        known = None if found is None else _parsed(found, store, key)
        if known is not None:
            check_topic(job, topic, known.topic, seen)
        now = begun(known, seen, extents, start, before)
        return None if now == known else _written(now)

    kept = keep(store, key, choose, _MAX_BYTES)
    assert kept is not None
    return _parsed(kept, store, key)


def check_topic(job: str, topic: str, known: TopicIdentity, seen: TopicIdentity) -> None:
    if is_other(known, seen):
        raise JobStopped(
            f"job {job} reads topic {topic} with id {known.topic_id} of cluster {known.cluster}; the topic of that name has id "
            f"{seen.topic_id}, in cluster {seen.cluster}: it was made anew, or the address leads to another cluster. Correct the "
            f"address; or, to take this topic from its beginning, run the job under another name"
        )


def _beginning(partition: int, extent: Extent, start: Start, before: MarkBefore) -> Beginning:
    offset = _start_of(partition, extent, start)
    return Beginning(offset, before(partition, offset) if offset > extent.first else None)


def _start_of(partition: int, extent: Extent, start: Start) -> int:
    if isinstance(start, str):
        return extent.first if start == "earliest" else extent.next_offset
    offset = start.get(partition, extent.first)
    if not extent.first <= offset <= extent.next_offset:
        raise InvalidInput(
            f"start[{partition}] is {offset}, and that partition holds the offsets {extent.first} to {extent.next_offset}: "
            f"give one of them, or leave the partition out to begin with its first record"
        )
    return offset


def _written(origin: Origin) -> bytes:
    starts: dict[str, dict[str, object]] = {}
    for partition, beginning in sorted(origin.starts.items()):
        starts[str(partition)] = {"offset": beginning.offset}
        if beginning.before is not None:
            starts[str(partition)]["before"] = beginning.before.to_json()
    body = {"format": 1, "cluster": origin.topic.cluster, "topic_id": origin.topic.topic_id, "starts": starts}
    return json.dumps(body).encode()


def _parsed(data: bytes, store: Store, key: str) -> Origin:
    try:
        body = json.loads(data)
        cluster, topic_id = (None if body[name] is None else str(body[name]) for name in ("cluster", "topic_id"))
        starts = {
            int(partition): Beginning(
                int(item["offset"]), RecordMark.from_json(item["before"]) if item.get("before") else None
            )
            for partition, item in body["starts"].items()
        }
        return Origin(TopicIdentity(cluster, topic_id), starts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobStopped(
            f"{store.uri}/{key}, where this job keeps what it reads and where it began, can't be read ({error}). Restore it; or, "
            f"if the topic is still the one that was read, delete it"
        ) from None
