"""Whatever lies on the proposals topic, good proposals behind it are decided, and nothing is lost."""

import pytest

from headgate_bus.interface import Message, Record, Topic, Unread
from headgate_committer.proposals.intake import UndecidableRecord, take_in
from headgate_committer.tables import NotServed
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.events import ReceiptEvent
from headgate_schemas.messages.operations import Append, Committed, RejectCode, Rejected
from headgate_schemas.messages.proposals import encode_proposal
from headgate_table.indextables.log.reader import LogReader
from support.committing.rig import TABLE, Rig, Stores
from support.tables import add_file

RUBBISH = {
    "not JSON": b"{",
    "nothing at all": b"",
    "an array": b"[]",
    "an unknown operation": b'{"format":1,"id":"x","table":"memory://table","created":1,"author":"a","operation":{"type":"explode"}}',
    "an unknown field": b'{"format":1,"id":"x","table":"memory://table","created":1,"author":"a","operation":{"type":"restore","version":1,"force":true}}',
    "a newer format": b'{"format":2,"id":"x","table":"memory://table","created":1,"author":"a","operation":{"type":"restore","version":1}}',
    "a wrong type": b'{"format":1,"id":7,"table":"memory://table","created":1,"author":"a","operation":{"type":"restore","version":1}}',
    "no operation": b'{"format":1,"id":"x","table":"memory://table","created":1,"author":"a"}',
    "bytes that are no text": bytes(range(256)),
}


@pytest.mark.parametrize("body", RUBBISH.values(), ids=RUBBISH.keys())
def test_rubbish_becomes_a_dead_letter_and_a_receipt_and_the_next_proposal_commits(body: bytes) -> None:
    rig = Rig()
    headers = attributes(kind=PROPOSAL, event_id="bad", source="t", subject="bad", time_ms=1)
    rig.bus.append(Topic.PROPOSALS, [Message(TABLE, headers, body)])
    good = rig.append("a")
    rig.settle(rig.committer())
    receipts = rig.receipts()
    (letter,) = rig.dead_letters()
    assert letter.body == body
    assert receipts["bad"].code is RejectCode.UNREADABLE  # type: ignore[union-attr]
    assert receipts[good] == Committed(1, good)


@pytest.mark.parametrize(("is_over_bound", "code"), [(True, RejectCode.OVER_BOUND), (False, RejectCode.UNREADABLE)])
def test_what_stands_for_messages_that_can_not_be_read_is_no_proposal_whatever_its_bytes_are(
    is_over_bound: bool, code: RejectCode
) -> None:
    body = encode_proposal(Rig().proposal(Append((add_file("a"),))))
    taken = take_in(Record(0, 7, 1, TABLE, body, {}, Unread("it goes on and on", is_over_bound)))
    assert isinstance(taken, UndecidableRecord)
    assert (taken.code, taken.reason, taken.record.body) == (code, "it goes on and on", body)


def test_a_message_without_headers_is_set_aside_without_a_receipt() -> None:
    rig = Rig()
    rig.bus.append(Topic.PROPOSALS, [Message("", {}, b"hello")])
    rig.settle(rig.committer())
    events = rig.events()
    assert [event.proposal for event in events if isinstance(event, ReceiptEvent)] == [f"create-{TABLE}"]
    assert len(rig.dead_letters()) == 1


def test_a_proposal_for_a_table_that_is_not_there_is_set_aside() -> None:
    rig = Rig(create=False)
    unknown = rig.append("a")
    rig.settle(rig.committer())
    receipt = rig.receipts()[unknown]
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.UNKNOWN_TABLE
    assert [letter.proposal for letter in rig.dead_letters()] == [unknown]


def test_a_proposal_for_a_table_outside_of_the_roots_is_set_aside() -> None:
    rig = Rig()
    unknown = rig.propose(Append((add_file("a"),)), table="memory://elsewhere/../table")
    rig.settle(rig.committer())
    assert unknown not in rig.receipts()
    assert [(letter.proposal, letter.code) for letter in rig.dead_letters()] == [(unknown, "unknown_table")]


def test_a_committer_with_other_roots_contradicts_nobody_about_the_same_proposal() -> None:
    rig = Rig(TABLE, "memory://other")
    rig.bus.cluster.announces = False  # one of the two is of a release that doesn't look around
    every = rig.committer("all")
    rig.settle(every)
    rig.receipts()
    proposal = rig.append("a", table="memory://other")
    few = rig.committer("few", tables=Stores({TABLE: rig.stores[TABLE]}, rig.settings), group="others")
    rig.settle(few)
    assert proposal not in rig.receipts()
    rig.settle(every)
    assert rig.receipts()[proposal] == Committed(1, proposal)


def test_an_address_that_no_committer_serves_is_refused_with_a_receipt() -> None:
    class Strict(Stores):
        def reader(self, uri: str) -> LogReader:
            raise NotServed(f"{uri} is not the one spelling of its address")

    rig = Rig()
    committer = rig.committer(tables=Strict({}, {}))
    proposal = rig.append("a")
    rig.settle(committer)
    assert rig.receipts()[proposal].code is RejectCode.UNKNOWN_TABLE  # type: ignore[union-attr]


def test_a_key_that_is_not_the_table_is_set_aside() -> None:
    rig = Rig()
    proposal = rig.proposal(Append((add_file("a"),)))
    rig.bus.append(Topic.PROPOSALS, [Message("memory://other", {}, encode_proposal(proposal))])
    rig.settle(rig.committer())
    assert rig.receipts()[proposal.id].code is RejectCode.UNREADABLE  # type: ignore[union-attr]
    assert rig.table().version == 0


def test_a_path_that_leaves_the_table_is_refused() -> None:
    rig = Rig()
    bad = rig.propose(Append((add_file("../../etc/passwd"),)))
    rig.settle(rig.committer())
    assert rig.receipts()[bad].code is RejectCode.INVALID  # type: ignore[union-attr]
