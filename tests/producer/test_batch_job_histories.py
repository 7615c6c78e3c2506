"""Random histories of a topic and the runs of a batch job on it: each record is taken once, or the job says why it stops."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_producer.batch.job import Start
from headgate_producer.batch.record_source import TopicIdentity
from headgate_producer.errors import JobStopped
from headgate_table.errors import OutcomeUnknown
from support.processes.fuse import Fuse
from support.producer.batch_world import BatchWorld
from support.stores.faulty import StepKill

STEPS = st.one_of(
    st.tuples(st.just("produce"), st.integers(0, 1), st.integers(1, 6)),
    st.tuples(st.just("markers"), st.integers(0, 1), st.integers(1, 6)),
    st.tuples(st.just("run"), st.just(0), st.just(0)),
    st.tuples(st.just("killed"), st.just(0), st.integers(1, 60)),
    st.tuples(st.just("unanswered"), st.just(0), st.just(0)),
    st.tuples(st.just("cut"), st.integers(0, 1), st.integers(1, 4)),
    st.tuples(st.just("anew"), st.just(0), st.just(0)),
    st.tuples(st.just("partition"), st.just(1), st.just(0)),
)


@dataclass
class Topic:
    """What a topic holds, and what its readers are owed."""

    world: BatchWorld
    held: dict[int, list[str | None]]
    made: int = 0
    lives: int = 0
    was_cut: bool = False
    lost: set[str] = field(default_factory=set)
    """Records that are in the topic no more: a job may have taken them."""

    def produce(self, partition: int, count: int) -> None:
        for _ in range(count):
            self.made += 1
            self.held[partition].append(f"{'eu'[self.made % 2]}-{self.made:04d}")

    def cut(self, partition: int, count: int) -> None:
        """The last offsets, with one record at least: where others come instead of offsets without any, nobody can know."""
        held = self.held[partition]
        records = [offset for offset, text in enumerate(held) if text]
        if not records:
            return
        start = min(len(held) - count, records[-1])
        self.lost |= {text for text in held[max(start, 0) :] if text}
        self.was_cut = True
        del held[max(start, 0) :]

    def make_anew(self) -> None:
        for held in self.held.values():
            self.lost |= {text for text in held if text}
            held.clear()
        self.lives += 1
        self.world.named = TopicIdentity("cluster", f"life {self.lives}")

    def records(self) -> set[str]:
        return {text for held in self.held.values() for text in held if text}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["earliest", "latest"]),
    st.sampled_from([("e-0000",), (None,), ()]),
    st.lists(STEPS, max_size=14),
)
def test_every_record_is_taken_once_or_the_job_says_why_it_stops(
    start: Start, held: tuple[str | None, ...], steps: list[tuple[str, int, int]]
) -> None:
    """A topic may begin with an offset that holds no record, and so nothing to know it by."""
    world = BatchWorld({0: list(held)})
    topic = Topic(world, world.held)  # type: ignore[arg-type]  # a dict, as it was given
    before_first_run = topic.records()
    has_run = False
    for kind, number, count in [*steps, ("run", 0, 0), ("run", 0, 0)]:
        partition = number if number in topic.held else 0
        match kind:
            case "produce":
                topic.produce(partition, count)
            case "markers":
                topic.held[partition].extend([None] * count)
            case "cut":
                topic.cut(partition, count)
            case "anew":
                topic.make_anew()
            case "partition":
                topic.held.setdefault(1, [])
            case _:
                if not has_run:
                    before_first_run = topic.records()
                world.is_committing = kind != "unanswered"
                try:
                    world.run(Fuse(count) if kind == "killed" else None, start=start)
                except StepKill:
                    has_run = has_run or start == "earliest"  # a run that died early hasn't begun anywhere yet
                    if not has_run and world.store.head("_headgate/jobs/job/clicks/origin.json") is not None:
                        has_run = True
                    continue
                except OutcomeUnknown:
                    if world.is_committing:
                        raise
                except JobStopped:
                    if not (topic.was_cut or topic.lives):
                        raise  # nobody did anything to this topic
                    break
                has_run = True
    else:
        owed = topic.records() - (before_first_run if start == "latest" else set())
        rows = world.rows()
        assert len(rows) == len(set(rows)), "taken twice"
        assert owed <= set(rows), "not taken"
        assert set(rows) <= owed | topic.lost | (before_first_run if start == "earliest" else set())
