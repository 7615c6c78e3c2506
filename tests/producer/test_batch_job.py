"""Batch jobs: records of a topic come into the table once each, and the job says why when it can't go on."""

import itertools
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa
import pytest

from headgate_bus.interface import Topic
from headgate_producer.batch.bounds import BatchBounds, agree, bounds_key
from headgate_producer.batch.job import BatchJob, BatchLimits
from headgate_producer.errors import JobStopped
from headgate_producer.producer import Producer
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import OutcomeUnknown, StoreError
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.processes.fuse import Fuse
from support.producer.batch_world import TABLE, BatchWorld, ListedRecords, to_table
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.memory import MemoryStore

T = TypeVar("T")


def values(partition: int, count: int, first: int = 0) -> list[str | None]:
    """Records of two regions, in turn."""
    return [f"{'eu'[number % 2]}-{partition}-{number:03d}" for number in range(first, first + count)]


def all_of(world: BatchWorld) -> list[str]:
    return sorted(value for held in world.held.values() for value in held if value is not None)


def test_a_run_takes_every_record_of_every_partition() -> None:
    world = BatchWorld({0: values(0, 10), 1: values(1, 3)})
    report = world.run()
    assert world.rows() == all_of(world)
    assert (report.records, report.batches, report.duplicates) == (13, 4, 0)
    assert report.positions == {0: 10, 1: 3}


def test_files_lie_in_the_folders_of_their_partitions() -> None:
    world = BatchWorld({0: values(0, 4)})
    world.run()
    paths = [info.key for info in world.store.list() if info.key.endswith(".parquet")]
    assert [path.split("/")[0] for path in paths] == ["region=e", "region=u"]
    assert all("-job-clicks-0-0-4-" in path for path in paths)


def test_a_table_without_partitions_gets_one_file_a_batch() -> None:
    world = BatchWorld({0: values(0, 4)}, partition_by=())
    assert world.run().files == 1
    assert world.rows() == all_of(world)


def test_the_next_run_takes_only_what_is_new() -> None:
    world = BatchWorld({0: values(0, 6)})
    world.run()
    world.held[0].extend(values(0, 5, first=6))
    report = world.run()
    assert (report.records, report.positions) == (5, {0: 11})
    assert world.rows() == all_of(world)


def test_a_run_with_nothing_new_commits_nothing() -> None:
    world = BatchWorld({0: values(0, 6)})
    world.run()
    assert world.run().batches == 0


def test_offsets_without_records_are_passed() -> None:
    world = BatchWorld({0: [None, "e-1", None, None, None, None, "u-2", None], 1: [None, None]})
    assert world.run().positions == {0: 8, 1: 2}
    assert world.rows() == ["e-1", "u-2"]
    assert world.run().batches == 0


def test_a_job_can_begin_at_the_end_or_at_an_offset() -> None:
    world = BatchWorld({0: values(0, 6)})
    assert world.run(name="one", start="latest").records == 0
    assert world.run(name="other", start={0: 4}).records == 2


def test_a_job_for_ever_goes_on_until_it_is_told_to_stop() -> None:
    world = BatchWorld({0: values(0, 6)})
    turns = itertools.count()

    def stopping() -> bool:
        if next(turns) == 2:
            world.held[0].extend(values(0, 3, first=6))
        return next(turns) > 12

    job = BatchJob("job", ListedRecords(world.held, ambient=world.ambient), world._producer(Fuse()), to_table)
    assert job.run(stopping, for_ever=True).records == 9
    assert world.rows() == all_of(world)


def test_deleted_records_stop_the_job() -> None:
    world = BatchWorld({0: values(0, 6)})
    world.run()
    world.held[0].extend(values(0, 6, first=6))
    world.first = {0: 8}
    with pytest.raises(JobStopped, match=r"is at offset 6 .* begins at 8 by now"):
        world.run()


def test_a_topic_that_was_made_anew_stops_the_job() -> None:
    world = BatchWorld({0: values(0, 6)})
    world.run()
    del world.held[0][2:]
    with pytest.raises(JobStopped, match="ends at 2: it is not the topic that was read before"):
        world.run()


def test_a_table_that_was_made_anew_stops_the_job() -> None:
    world = BatchWorld({0: values(0, 6)})
    agree(world.store, "job/clicks/0", BatchBounds(4, 6))
    with pytest.raises(JobStopped, match="not the table that was written before"):
        world.run()


def test_rows_without_the_partition_column_stop_the_job() -> None:
    world = BatchWorld({0: values(0, 2)})
    job = BatchJob(
        "job", ListedRecords(world.held), world._producer(Fuse()), lambda records: to_table(records).select(["text"])
    )
    with pytest.raises(JobStopped, match="no column 'region'"):
        job.run()


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pa.array([1, 2]), "column 'text' is long in the rows and string in the table"),
        (pa.array([1, 2], pa.duration("s")), "column 'text' has the Arrow type"),
    ],
    ids=["number", "duration"],
)
def test_rows_that_the_table_can_not_hold_stop_the_job_before_anything_is_proposed(column: pa.Array, told: str) -> None:
    """Break: the job has a writer of its own, whose rules differ from those of `write`."""
    world = BatchWorld({0: values(0, 2)})
    job = BatchJob(
        "job",
        ListedRecords(world.held),
        world._producer(Fuse()),
        lambda records: to_table(records).set_column(0, "text", [column]),
    )
    with pytest.raises(JobStopped, match=told):
        job.run()
    world.settle()
    assert world.rows() == []


def test_values_of_a_batch_become_what_write_makes_of_them() -> None:
    world = BatchWorld({0: values(0, 4)})
    job = BatchJob(
        "job",
        ListedRecords(world.held, ambient=world.ambient),
        world._producer(Fuse()),
        lambda records: to_table(records).set_column(0, "text", to_table(records).column("text").dictionary_encode()),
    )
    job.run()
    assert world.rows() == all_of(world)


def test_a_receipt_that_never_comes_ends_the_run_as_unknown() -> None:
    world = BatchWorld({0: values(0, 2)})
    world.is_committing = False
    with pytest.raises(OutcomeUnknown):
        world.run()
    assert world.bus.extent(Topic.PROPOSALS, 0).next_offset == 2  # the table's creation, and one for all that was asked


def test_a_proposal_that_was_given_up_is_proposed_again_under_its_id() -> None:
    world = BatchWorld({0: values(0, 2)})
    world.answer_within_s = 3.0
    world.commits_from_s = world.ambient.monotonic_s() + 4.0
    world.run()
    proposals = world.bus.reader(Topic.PROPOSALS, {0: 1}).read(0.0)
    assert len(proposals) == 2
    assert len({record.headers["ce_subject"] for record in proposals}) == 1
    assert world.rows() == all_of(world)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "..", "x" * 81])
def test_a_name_that_could_not_be_a_file_is_refused(name: str) -> None:
    ambient = FakeAmbient()
    producer = Producer(MemoryBus(ambient), TABLE, ambient=ambient, threads=False, store=MemoryStore(uri=TABLE))
    with pytest.raises(InvalidInput, match="job name"):
        BatchJob(name, ListedRecords({}), producer, to_table)


def test_a_run_that_was_killed_with_its_proposal_on_the_bus_is_not_doubled_by_one_that_sees_more() -> None:
    world = BatchWorld({0: values(0, 3)})
    world.is_committing = False
    steps = Fuse()
    with pytest.raises(OutcomeUnknown):
        world.run(steps)
    world.held[0].extend(values(0, 6, first=3))  # the next run would make a larger batch of it
    world.is_committing = True
    report = world.run()
    assert world.rows() == all_of(world)
    assert report.duplicates == 1


class HeldUp(Fuse):
    """A process that stands still before its first append, while something else happens."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile: Callable[[], object] | None = meanwhile

    def run(self, what: str, effect: Callable[[], T]) -> T:
        if what == "bus append" and self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
        return super().run(what, effect)


def test_a_run_that_was_held_up_does_not_double_what_another_has_committed_meanwhile() -> None:
    world = BatchWorld({0: values(0, 4)})
    shorter = BatchLimits(max_records=2, linger_s=0.0, receipt_within_s=5.0)
    report = world.run(HeldUp(lambda: world.run(limits=shorter)))
    assert world.rows() == all_of(world)
    assert (report.batches, report.duplicates) == (0, 1)


def test_two_runs_at_once_take_every_record_once() -> None:
    world = BatchWorld({0: values(0, 4)})

    def another() -> None:
        world.held[0].extend(values(0, 7, first=4))
        world.run()

    world.run(HeldUp(another))
    assert world.rows() == all_of(world)


def test_what_begins_at_an_offset_ends_where_it_was_agreed_first() -> None:
    store = MemoryStore()
    assert agree(store, "job/t/0", BatchBounds(0, 10)) == BatchBounds(0, 10)
    assert agree(store, "job/t/0", BatchBounds(0, 15)) == BatchBounds(0, 10)
    assert agree(store, "job/t/0", BatchBounds(10, 15)) == BatchBounds(10, 15)
    assert agree(store, "job/t/0", BatchBounds(0, 20)) == BatchBounds(10, 15)


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
@pytest.mark.parametrize("call", ["create", "swap"])
def test_a_lost_answer_does_not_change_what_is_agreed(call: str, fault: Fault) -> None:
    store = FaultyStore(MemoryStore(), on(call, fault))
    assert agree(store, "job/t/0", BatchBounds(0, 10)) == BatchBounds(0, 10)
    assert agree(store, "job/t/0", BatchBounds(10, 12)) == BatchBounds(10, 12)
    assert agree(store, "job/t/0", BatchBounds(10, 15)) == BatchBounds(10, 12)


def test_a_store_that_never_answers_ends_the_agreement() -> None:
    with pytest.raises(StoreError, match="10 times in a row"):
        agree(FaultyStore(MemoryStore(), on("create", Fault.LOST_REQUEST, times=99)), "job/t/0", BatchBounds(0, 1))


def test_bounds_that_can_not_be_read_stop_the_job() -> None:
    store = MemoryStore()
    store.put(bounds_key("job/t/0"), b"{}")
    with pytest.raises(JobStopped, match="can't be read"):
        agree(store, "job/t/0", BatchBounds(0, 1))
