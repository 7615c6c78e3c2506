"""Bounds on what comes from the bus: hostile messages take no more time and memory than honest ones of their size."""

import json
from collections.abc import Callable

import pytest

from headgate_bus.interface import Record
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord, take_in
from headgate_schemas.messages import proposals
from headgate_schemas.messages.dead_letters import decode_dead_letter
from headgate_schemas.messages.events import decode_event
from headgate_schemas.messages.message_shape import (
    MAX_ITEMS,
    MAX_KEYS,
    MAX_MESSAGE_BYTES,
    MAX_VALUES,
    UnreadableMessage,
)
from headgate_schemas.messages.operations import RejectCode
from headgate_schemas.messages.proposals import decode_claimed, decode_proposal
from support.processes.isolated import run_isolated

MAX_GROWTH_MIB = 250
"""For one message: an honest one of full size takes about 100 MiB."""

_MEASURED = """
import resource, sys
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.proposals import decode_proposal
frame = b'{"format":1,"id":"p","table":"t","created":1,"author":"a","operation":%s}'
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decode_proposal(frame % eval(sys.argv[1]))
except UnreadableMessage as refused:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10, refused)
"""


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        # Each would be told with all of its wrong places, four for three bytes: 1.7 GB at this size.
        ("""b'{"type":"append","files":[' + b",".join([b'{}'] * 345_000) + b']}'""", "path: Field required"),
        ("""b'{"type":"delete","paths":[' + b",".join([b'0'] * 500_000) + b']}'""", "paths.0"),
        ("""b'{"type":"milvus","appendedFiles":[' + b",".join([b'[{}]'] * 200_000) + b']}'""", "Field required"),
        ("""b'{"type":"alter","basedOn":1,"configuration":{' + b",".join(b'"%x":1' % n for n in range(99_000)) + b'}}'""", "valid string"),
        ("""b'{"type":"alter",' + b",".join(b'"%x":1' % n for n in range(100_000)) + b'}'""", "basedOn"),
        # Found among so many others by comparing each with each, it took minutes.
        ("""b'{"type":"alter","basedOn":1,"configuration":{' + b",".join(b'"%x":""' % n for n in range(95_000)) + b',"f":""}}'""", "'f' comes twice"),
    ],
    ids=["empty files", "numbers for paths", "nested lists", "wrong values", "unknown keys", "a key twice"],
)  # fmt: skip
def test_a_message_with_a_hundred_thousand_faults_costs_little(operation: str, said: str) -> None:
    grown, _, refused = run_isolated(_MEASURED, operation).partition(" ")
    assert said in refused
    assert int(grown) < MAX_GROWTH_MIB


def a_proposal(operation: dict[str, object]) -> bytes:
    frame = {"format": 1, "id": "p", "table": "t", "created": 1, "author": "a"}
    return json.dumps(frame | {"operation": operation}, separators=(",", ":")).encode()


def test_a_map_of_too_many_keys_is_refused() -> None:
    keys = {f"{number:x}": "" for number in range(MAX_KEYS + 1)}
    data = json.dumps({"format": 1, "operation": {"type": "alter", "basedOn": 1, "configuration": keys}}).encode()
    with pytest.raises(UnreadableMessage, match=r"configuration: .*100000"):
        decode_claimed(data)


def test_a_list_of_too_many_items_is_refused() -> None:
    data = json.dumps({"format": 1, "operation": {"type": "delete", "paths": ["a"] * (MAX_ITEMS + 1)}}).encode()
    with pytest.raises(UnreadableMessage, match=r"paths: .*200000"):
        decode_claimed(data)


@pytest.mark.parametrize(
    "decode", [decode_proposal, decode_event, decode_dead_letter], ids=lambda found: found.__name__
)
def test_a_body_longer_than_any_bus_takes_is_not_read(decode: Callable[[bytes], object]) -> None:
    with pytest.raises(UnreadableMessage, match="MAX_MESSAGE_BYTES"):
        decode(b" " * MAX_MESSAGE_BYTES + b"{}")


def test_a_claim_of_more_values_than_are_read_is_refused_before_it_is_taken_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proposals, "ClaimedOperation", None)  # whatever is asked of it fails
    with pytest.raises(UnreadableMessage, match="MAX_VALUES"):
        decode_claimed(b"[" + b"0," * MAX_VALUES + b"0]")


def test_a_record_longer_than_any_bus_takes_is_over_a_bound_and_its_author_is_told() -> None:
    record = Record(0, 7, 1, "t", b" " * (MAX_MESSAGE_BYTES + 1), {"ce_subject": "p"})
    aside = take_in(record)
    assert isinstance(aside, UndecidableRecord)
    assert (aside.code, aside.proposal_id) == (RejectCode.OVER_BOUND, "p")


def test_a_proposal_of_the_largest_size_is_taken() -> None:
    paths = [f"date=2024-01-01/{number:08}.parquet" for number in range(28_000)]
    body = a_proposal({"type": "delete", "paths": paths})
    assert MAX_MESSAGE_BYTES * 0.9 < len(body) <= MAX_MESSAGE_BYTES
    assert isinstance(take_in(Record(0, 7, 1, "t", body, {})), QueuedProposal)
