"""Rule 4: writers' seqs don't expire, a rejected one does not count, and one proposal of an app is in flight at a time.

Without it: a batch job that is run again after ten days doubles its rows; seq 17, lost while 18 commits, is called a duplicate.
"""

import pytest

from headgate_producer.delivery.ticket import Ticket
from headgate_producer.errors import NotSent
from headgate_producer.producer import Producer
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.operations import Append, Committed, Delete, Duplicate, Rejected, Writer
from headgate_table.errors import OutcomeUnknown
from headgate_table.indextables.log.reader import LogReader
from support.simulation.judge.asked import ask_of
from support.simulation.scenario import TABLE, Scenario
from support.simulation.world.executors import resources_of
from support.simulation.world.faults import Fault
from support.simulation.world.scheduler import Process


def test_a_job_that_is_run_again_after_ten_days_and_a_cleaning_doubles_nothing() -> None:
    with Scenario() as play:
        first = play.committer("first", interval=2)
        play.decided(play.propose(writer=Writer("nightly", 17)))
        assert first.process is not None
        first.process.kill()
        play.lose_place(first)
        play.days(10)
        second = play.committer("second", interval=2)
        play.committed(6)
        play.run_for(1)
        play.by("cleaner", lambda process: play.table(process, TABLE, {"checkpoint.interval": "2"}).truncate_history())
        assert 1 not in play.model.present
        assert second.process is not None
        second.process.kill()
        play.lose_place(second)
        play.committer("third", interval=2)
        again = play.decided(play.propose(writer=Writer("nightly", 17)))
        assert play.told(again) == [Duplicate(1, again)]


def test_a_seq_that_was_rejected_can_be_committed_with_another_proposal() -> None:
    with Scenario() as play:
        play.committer("committer")
        bad = play.decided(play.propose(Delete(("region=eu/never-was.parquet",)), writer=Writer("job", 5)))
        good = play.decided(play.propose(writer=Writer("job", 5)))
        assert isinstance(play.told(bad)[0], Rejected)
        assert play.told(good) == [Committed(play.model.newest, good)]


def test_the_next_seq_isnt_sent_while_the_fate_of_the_one_before_is_open() -> None:
    with Scenario() as play:
        play.committer("committer")

        def run(process: Process) -> list[object]:
            store = play.store(process, TABLE)
            bus, ambient = play.bus(process), play.ambient(process)
            producer = Producer(bus, TABLE, ambient=ambient, threads=False, store=store, answer_within_s=2.0)
            producer.reader = LogReader(store, resources_of(ambient))
            play.faults.plan(Fault.LOST_REQUEST, "bus.append", process="job", times=100)
            with pytest.raises(OutcomeUnknown):
                _proposed(play, producer, 17).wait()
            play.faults.planned.clear()
            with pytest.raises(NotSent):
                _proposed(play, producer, 18)
            return [_proposed(play, producer, seq).wait() for seq in (17, 18)]

        receipts = play.by("job", run)
        assert [type(receipt) for receipt in receipts] == [Committed, Committed]
        assert [seq for seq, _ in play.model.seqs["job"]] == [17, 18]


def _proposed(play: Scenario, producer: Producer, seq: int) -> Ticket:
    """Each seq always with the same id and the same file, as a job that runs again proposes it."""
    identity, writer = f"seq-{seq}", Writer("job", seq)
    if identity not in play.asks.by_id:
        play.asks.add(ask_of(identity, TABLE, Append((play.file(),)), writer))
    (path,) = play.asks.by_id[identity].adds
    operation = Append((AddFile(path, {"region": "eu"}, 10, 1_780_000_000_000, num_records=10),))
    return producer.propose(operation, proposal_id=identity, writer=writer)
