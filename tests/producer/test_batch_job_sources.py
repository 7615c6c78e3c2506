"""Which topic a batch job reads, and where it begins: decided by the first run, remembered, and compared by every later one."""

import itertools
import json
from collections.abc import Callable

import pytest

from headgate_producer.batch.bounds import bounds_key
from headgate_producer.batch.job import BatchJob, BatchLimits
from headgate_producer.batch.marks import SeenRecord, compared, mark_of
from headgate_producer.batch.origin import origin_key
from headgate_producer.batch.record_source import Chunk, SourceRecord, TopicIdentity
from headgate_producer.errors import JobStopped
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import OutcomeUnknown
from support.processes.fuse import Fuse
from support.producer.batch_world import LIMITS, BatchWorld, ListedRecords, to_table

ANEW = TopicIdentity("cluster", "second")


def values(count: int, first: int = 0, name: str = "e") -> list[str | None]:
    return [f"{name}-{number:03d}" for number in range(first, first + count)]


def run_for_ever(
    world: BatchWorld, turns: int, meanwhile: Callable[[int, ListedRecords], None], source: ListedRecords | None = None
) -> BatchJob:
    """So many turns of the job's loop; `meanwhile` is called before each."""
    topic = source or ListedRecords(world.held, ambient=world.ambient)
    count = itertools.count()

    def stopping() -> bool:
        turn = next(count)
        meanwhile(turn, topic)
        return turn >= turns

    job = BatchJob("job", topic, world._producer(Fuse()), to_table, limits=LIMITS)
    job.run(stopping, for_ever=True)
    return job


@pytest.mark.parametrize("named", [ANEW, TopicIdentity("elsewhere", "first")])
def test_a_topic_that_was_made_anew_and_has_grown_stops_the_job(named: TopicIdentity) -> None:
    world = BatchWorld({0: values(6)})
    world.run()
    world.held[0][:] = values(20, name="u")
    world.named = named
    with pytest.raises(JobStopped, match="it was made anew, or the address leads to another cluster"):
        world.run()
    assert world.rows() == values(6)


def test_a_topic_that_was_made_anew_stops_also_a_job_that_has_taken_nothing_yet() -> None:
    world = BatchWorld({0: values(6)})
    world.run(start="latest")
    world.named = ANEW
    with pytest.raises(JobStopped, match="made anew"):
        world.run(start="latest")


def test_a_topic_that_is_made_anew_stops_a_job_that_runs() -> None:
    world = BatchWorld({0: values(6)})

    def anew(turn: int, topic: ListedRecords) -> None:
        if turn == 4:
            topic.named = ANEW
            world.held[0][:] = values(20, name="u")

    with pytest.raises(JobStopped, match="made anew"):
        run_for_ever(world, 10, anew)
    assert world.rows() == values(6)


@pytest.mark.parametrize("grown_to", [6, 7, 20])
def test_a_topic_that_lost_its_end_and_has_grown_again_stops_the_job(grown_to: int) -> None:
    world = BatchWorld({0: values(6)})
    world.run()
    world.held[0][4:] = values(grown_to - 4, first=4, name="u")
    with pytest.raises(JobStopped, match=r"has seen a record at offset 5 .* lost its end and has grown again"):
        world.run()
    assert world.rows() == values(6)


def test_records_where_there_was_none_before_the_position_stop_the_job() -> None:
    world = BatchWorld({0: [*values(2), None, None]})
    world.run()
    world.held[0][3:] = values(3, first=3, name="u")
    with pytest.raises(JobStopped, match=r"has seen a record at offset 1 .* lost its end"):
        world.run()


def test_a_topic_that_lost_its_end_under_an_undecided_batch_stops_the_job() -> None:
    world = BatchWorld({0: values(4)})
    world.is_committing = False
    with pytest.raises(OutcomeUnknown):
        world.run()
    world.held[0][2:] = values(8, first=2, name="u")
    world.is_committing = True
    with pytest.raises(JobStopped, match=r"has seen a record at offset 3 .* lost its end"):
        world.run()


def test_a_topic_that_lost_its_end_before_an_undecided_batch_stops_the_job() -> None:
    world = BatchWorld({0: values(4)})
    world.run()
    world.held[0].extend(values(4, first=4))
    world.is_committing = False
    with pytest.raises(OutcomeUnknown):
        world.run()
    world.held[0][2:] = values(8, first=2, name="u")
    with pytest.raises(JobStopped, match=r"has seen a record at offset 3 .* lost its end"):
        world.run()


def test_taken_records_that_are_deleted_by_age_do_not_stop_the_job() -> None:
    world = BatchWorld({0: values(6)})
    world.run()
    world.held[0].extend(values(3, first=6))
    world.first = {0: 6}
    world.run()
    assert world.rows() == values(9)


def test_records_that_a_topic_loses_behind_the_position_are_no_matter() -> None:
    world = BatchWorld({0: values(6)})
    world.run()
    world.held[0].extend(values(3, first=6))
    world.held[0][6:] = values(4, first=6, name="u")
    world.run()
    assert world.rows() == sorted(text for text in world.held[0] if text)


def record(offset: int, key: bytes | None, value: bytes | None, time_ms: int = 1) -> SourceRecord:
    return SourceRecord(0, offset, time_ms, key, value)


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        ([record(5, b"k", b"v")], SeenRecord.SAME),
        ([record(4, b"k", b"x"), record(5, b"k", b"v")], SeenRecord.SAME),
        ([record(5, b"k", b"w")], SeenRecord.OTHER),
        ([record(5, b"l", b"v")], SeenRecord.OTHER),
        ([record(5, b"kv", b"")], SeenRecord.OTHER),
        ([record(5, b"k", None)], SeenRecord.OTHER),
        ([record(5, None, b"v")], SeenRecord.OTHER),
        ([record(5, b"k", b"v", 2)], SeenRecord.OTHER),
        ([record(5, b"k", b"v"), record(6, b"k", b"v")], SeenRecord.OTHER),
        ([record(6, b"k", b"v")], SeenRecord.OTHER),
        ([record(4, b"k", b"v")], SeenRecord.GONE),
        ([], SeenRecord.GONE),
    ],
)
def test_a_mark_knows_its_record(found: list[SourceRecord], seen: SeenRecord) -> None:
    assert compared(mark_of(record(5, b"k", b"v")), found) is seen


def test_compaction_takes_no_record_without_a_key() -> None:
    assert compared(mark_of(record(5, None, b"v")), []) is SeenRecord.OTHER


def test_latest_is_decided_by_the_first_run() -> None:
    world = BatchWorld({0: values(6), 1: []})
    world.run(start="latest")
    world.held[0].extend(values(2, first=6))
    world.held[1].extend(values(3, name="u"))
    assert world.run(start="latest").records == 5
    assert world.rows() == [*values(2, first=6), *values(3, name="u")]


@pytest.mark.parametrize("start", ["latest", {0: 4}])
def test_a_topic_that_lost_what_was_before_a_beginning_stops_the_job(start: object) -> None:
    world = BatchWorld({0: [*values(4), None]})
    world.run(start=start)
    world.held[0][3:] = values(8, first=3, name="u")
    with pytest.raises(JobStopped, match=r"has seen a record at offset 3"):
        world.run(start=start)


@pytest.mark.parametrize("start", ["latest", "earliest", {0: 2}])
def test_a_partition_that_is_added_begins_with_its_first_record(start: object) -> None:
    world = BatchWorld({0: values(2)})
    world.run(start=start)
    world.held[1] = values(3, name="u")  # type: ignore[index]  # a dict, as it was given
    assert world.run(start=start).records == 3


def test_a_job_that_runs_finds_partitions_that_are_added() -> None:
    world = BatchWorld({0: values(2)})

    def added(turn: int, topic: ListedRecords) -> None:
        if turn == 3:
            topic.held[1] = values(3, name="u")  # type: ignore[index]  # a dict, as it was given
            topic.first[1] = 0
            world.ambient.sleep(BatchLimits().partitions_every_s)

    run_for_ever(world, 10, added)
    assert world.rows() == [*values(2), *values(3, name="u")]


def test_records_that_went_before_a_first_batch_stop_the_job() -> None:
    world = BatchWorld({0: []})
    world.run()
    world.held[0].extend(values(9))
    world.first = {0: 4}
    with pytest.raises(JobStopped, match=r"at offset 0 .* begins at 4 by now: records were deleted"):
        world.run()


@pytest.mark.parametrize("offset", [1, 7])
def test_a_start_outside_of_the_topic_is_refused_and_not_remembered(offset: int) -> None:
    world = BatchWorld({0: values(6)})
    world.first = {0: 2}
    with pytest.raises(InvalidInput, match=rf"start\[0\] is {offset}, and that partition holds the offsets 2 to 6"):
        world.run(start={0: offset})
    assert world.run(start={0: 2}).records == 4


class Barren(ListedRecords):
    """Gives one offset at a time, and counts how often each is asked for."""

    def read(self, partition: int, offset: int, timeout_s: float, max_records: int) -> Chunk:
        self.asked.append(offset)
        return super().read(partition, offset, timeout_s, 1)

    def __init__(self, world: BatchWorld) -> None:
        super().__init__(world.held, ambient=world.ambient)
        self.asked: list[int] = []


def test_a_job_that_runs_passes_a_stretch_without_records_once() -> None:
    world = BatchWorld({0: [*[None] * 12, *values(2)]})
    source = Barren(world)
    run_for_ever(world, 30, lambda turn, topic: None, source)
    assert source.asked[:12] == list(range(12))
    assert world.rows() == values(2)


def test_a_run_that_passed_a_stretch_without_records_and_died_is_continued() -> None:
    world = BatchWorld({0: [*[None] * 3, *values(2)]})
    world.is_committing = False
    with pytest.raises(OutcomeUnknown):
        run_for_ever(world, 30, lambda turn, topic: None, Barren(world))
    world.is_committing = True
    world.held[0].extend(values(2, first=2))
    report = world.run()
    assert world.rows() == values(4)
    assert report.duplicates == 1


def test_what_an_earlier_release_left_is_read() -> None:
    world = BatchWorld({0: values(6)})
    world.run()
    world.store.delete([origin_key("job", "clicks")])
    body = json.loads(world.store.get(bounds_key("job/clicks/0")))
    world.store.put(
        bounds_key("job/clicks/0"), json.dumps({name: body[name] for name in ("format", "start", "end")}).encode()
    )
    world.held[0].extend(values(3, first=6))
    world.run()
    assert world.rows() == values(9)
    world.named = ANEW
    with pytest.raises(JobStopped, match="made anew"):
        world.run()


def test_ids_that_a_broker_tells_only_since_an_upgrade_are_taken_on() -> None:
    world = BatchWorld({0: values(2)})
    world.named = TopicIdentity("cluster", None)
    world.run()
    for topic_id in ("first", None, "first"):
        world.named = TopicIdentity("cluster", topic_id)
        world.run()
    world.named = ANEW
    with pytest.raises(JobStopped, match="made anew"):
        world.run()


def test_an_origin_that_can_not_be_read_stops_the_job() -> None:
    world = BatchWorld({0: values(2)})
    world.store.put(origin_key("job", "clicks"), b'{"starts": []}')
    with pytest.raises(JobStopped, match="what it reads and where it began, can't be read"):
        world.run()
