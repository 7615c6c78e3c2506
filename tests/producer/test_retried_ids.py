"""A proposal that is proposed again under its id, long after: it is answered as at first, or `expired`, and never decided twice."""

from contextlib import suppress

import pytest

from headgate_producer.producer import Producer
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Delete,
    Duplicate,
    Receipt,
    RejectCode,
    Rejected,
    Writer,
)
from headgate_schemas.messages.proposal_ids import made_at
from headgate_table.errors import OutcomeUnknown
from headgate_table.indextables.log.newest import NewestVersion
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.commit import DirectCommitter
from headgate_table.settings.options import table_options
from support.committing.rig import TABLE, Rig
from support.tables import add_file, fresh_resources

MANY = 1_100


class Play:
    """A table that remembers a thousand ids, a committer, and a producer in a process of its own each time."""

    def __init__(self) -> None:
        self.rig = Rig(interval=5)
        self.rig.settings["coordinator.dedupe.maxIds"] = "1000"
        self.rig.create_first()
        self.committer = self.rig.committer("decides")

    def told(self, operation: Append | Delete, **terms) -> Receipt:  # type: ignore[no-untyped-def]  # of the producer
        rig = self.rig
        with Producer(rig.bus, TABLE, ambient=rig.ambient, threads=False, store=rig.stores[TABLE]) as producer:
            ticket = producer.propose(operation, **terms)
            with suppress(OutcomeUnknown):
                ticket.wait(0.1)  # sends it; whoever has proposed it before may be told by the table at once
            rig.settle(self.committer)
            return rig.receipts()[ticket.proposal_id]

    def append(self, name: str, **terms) -> Receipt:  # type: ignore[no-untyped-def]  # of the producer
        return self.told(Append((add_file(name),)), **terms)

    def pass_ids(self) -> None:
        """So many that those before them are forgotten."""
        for start in range(0, MANY, 100):
            for number in range(start, start + 100):
                self.rig.append(f"passing-{number}")
            self.rig.settle(self.committer)
            self.rig.ambient.advance(seconds=20)
        assert self.rig.record(self.rig.table().version).decisions

    def retry_of_delete(self, **terms) -> Receipt:  # type: ignore[no-untyped-def]  # of the producer
        """The history: delete X commits; ids pass; new rows come; X again."""
        assert isinstance(self.append("a"), Committed)
        first = self.told(Delete(where=None, paths=("a.parquet",)), **terms)
        assert isinstance(first, Committed)
        self.pass_ids()
        self.rig.append("new")
        self.rig.settle(self.committer)
        return self.told(Delete(paths=("new.parquet",)), **{"proposal_id": first.proposal_id} | terms)


def expired(receipt: Receipt) -> str:
    assert isinstance(receipt, Rejected), receipt
    assert receipt.code is RejectCode.EXPIRED
    return receipt.reason


def test_an_id_of_ones_own_that_was_forgotten_is_not_decided_again() -> None:
    play = Play()
    reason = expired(play.retry_of_delete(proposal_id="nightly-delete"))
    assert "created" in reason
    assert "new.parquet" in play.rig.table().snapshot().paths()


def test_an_id_of_ones_own_with_its_first_time_is_not_decided_again_but_a_fresh_one_is() -> None:
    play = Play()
    first_ms = play.rig.ambient.now_ms()
    expired(play.retry_of_delete(proposal_id="nightly-delete", created=first_ms))
    play.rig.ambient.advance(seconds=60)
    fresh = play.append("fresh", proposal_id="fresh-id", created=play.rig.ambient.now_ms())
    assert isinstance(fresh, Committed)


def test_an_id_that_headgate_made_carries_its_time() -> None:
    play = Play()
    before_ms = play.rig.ambient.now_ms()
    first = play.append("first")
    assert made_at(first.proposal_id) == before_ms
    play.pass_ids()
    expired(play.append("again", proposal_id=first.proposal_id))
    play.rig.ambient.advance(seconds=60)
    later = play.append("later")
    assert isinstance(later, Committed)
    assert play.append("later", proposal_id=later.proposal_id) == Duplicate(later.version, later.proposal_id)


def test_an_id_of_ones_own_is_decided_as_long_as_the_table_has_forgotten_none() -> None:
    play = Play()
    first = play.append("first", proposal_id="mine")
    assert isinstance(first, Committed)
    assert play.append("first", proposal_id="mine") == Duplicate(first.version, "mine")


def test_a_seq_needs_no_time() -> None:
    play = Play()
    play.append("first", writer=Writer("job", 1), proposal_id="one")
    play.pass_ids()
    assert isinstance(play.append("second", writer=Writer("job", 2), proposal_id="two"), Committed)
    assert isinstance(play.append("second", writer=Writer("job", 2), proposal_id="two"), Duplicate)


def test_a_time_without_an_id_and_a_time_that_is_none_are_errors() -> None:
    rig = Rig()
    with Producer(rig.bus, TABLE, ambient=rig.ambient, threads=False, store=rig.stores[TABLE]) as producer:
        for terms in ({"created": 5}, {"created": -1, "proposal_id": "x"}, {"created": "now", "proposal_id": "x"}):
            with pytest.raises(InvalidInput, match="created"):
                producer.append([add_file("a")], **terms)


def test_a_direct_commit_that_was_forgotten_is_not_committed_again() -> None:
    rig = Rig(interval=5)
    rig.settings["coordinator.dedupe.maxIds"] = "1000"
    rig.create_first()
    reader = LogReader(rig.stores[TABLE], fresh_resources())
    committer = DirectCommitter(NewestVersion(reader), rig.ambient, lambda found: table_options(found, rig.settings))
    rig.ambient.advance(seconds=300)
    made_ms = rig.ambient.now_ms()
    known = committer.commit(Append((add_file("known"),)), "known", created_ms=made_ms)
    assert isinstance(committer.commit(Append((add_file("mine"),)), "mine"), Committed)
    rig.ambient.advance(seconds=60)
    for number in range(MANY):
        committer.commit(Append((add_file(f"f{number}"),)))
    expired(committer.commit(Append((add_file("other"),)), "mine"))
    expired(committer.commit(Append((add_file("other"),)), known.proposal_id, created_ms=made_ms))
    rig.ambient.advance(seconds=60)
    fresh = committer.commit(Append((add_file("other"),)), "fresh", created_ms=rig.ambient.now_ms())
    assert isinstance(fresh, Committed)


def test_an_empty_id_is_none_and_is_not_taken_for_a_new_one() -> None:
    """Break: a job whose stored id is empty proposes the same work again and again, each time under a new id."""
    play = Play()
    with pytest.raises(InvalidInput, match="proposal_id is ''"):
        play.append("a", proposal_id="")
