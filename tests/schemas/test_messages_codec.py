"""Messages as bytes: every operation survives the way, and what is no message is refused with a short reason."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.dead_letters import DeadLetter, decode_dead_letter, encode_dead_letter
from headgate_schemas.messages.events import CommitEvent, ReceiptEvent, decode_event, encode_event, receipt_event
from headgate_schemas.messages.message_shape import MAX_PROBLEM_CHARS, UnreadableMessage
from headgate_schemas.messages.operation_bodies import body_of, operation_of
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Delete,
    Duplicate,
    Isolation,
    Operation,
    ReadSet,
    Receipt,
    RejectCode,
    Rejected,
    Restore,
    Writer,
)
from headgate_schemas.messages.proposals import (
    ClaimedOperation,
    Proposal,
    decode_claimed,
    decode_proposal,
    encode_claimed,
    encode_proposal,
    new_proposal,
)
from support.drawn.operation_strategies import Values, maybe, operations

OPERATIONS = operations()
paths, counts, wheres = Values().paths, Values().counts, maybe(Values().wheres)


def test_every_operation_has_a_strategy() -> None:
    assert set(OPERATIONS) == set(Operation.__args__)


@pytest.mark.parametrize("kind", OPERATIONS, ids=lambda kind: kind.__name__)
@given(st.data())
def test_an_operation_survives_the_way(kind: type[Operation], data: st.DataObject) -> None:
    operation = data.draw(OPERATIONS[kind])
    proposal = new_proposal(operation, proposal_id="p", table="t", created_ms=1, author="a test")
    body = decode_proposal(encode_proposal(proposal)).operation
    assert body is not None
    assert operation_of(body) == operation


@given(st.one_of(*OPERATIONS.values()))
def test_an_operation_survives_behind_a_claim(operation: Operation) -> None:
    assert decode_claimed(encode_claimed(body_of(operation))) == operation


@given(
    writer=maybe(st.builds(Writer, paths, counts)),
    based_on=counts,
    reads=wheres,
    isolation=st.sampled_from(Isolation),
)
def test_what_surrounds_an_operation_survives(
    writer: Writer | None, based_on: int, reads: str | None, isolation: Isolation
) -> None:
    sent = new_proposal(
        Delete(("a",)),
        proposal_id="p",
        table="t",
        created_ms=1,
        author="a test",
        writer=writer,
        based_on=based_on,
        reads=reads,
        isolation=isolation,
    )
    found = decode_proposal(encode_proposal(sent))
    assert found == sent
    assert found.written_by == writer
    assert found.read_set == (ReadSet(based_on, reads) if isolation is Isolation.SERIALIZABLE else None)


@pytest.mark.parametrize(
    "receipt",
    [Committed(3, "p"), Duplicate(0, "p"), *(Rejected(code, "why\nnot", "p") for code in RejectCode)],
    ids=lambda receipt: getattr(receipt, "code", receipt).__class__.__name__ + str(getattr(receipt, "code", "")),
)
@pytest.mark.parametrize("table", ["s3://lake/t", None])
def test_a_receipt_survives_the_way(receipt: Receipt, table: str | None) -> None:
    found = decode_event(encode_event(receipt_event(receipt, table, 1)))
    assert isinstance(found, ReceiptEvent)
    assert (found.to_receipt(), found.table) == (receipt, table)


def test_a_commit_survives_the_way() -> None:
    event = CommitEvent(
        table="t",
        version=1,
        time=2,
        operation="append",
        added=1,
        removed=0,
        added_bytes=5,
        removed_bytes=0,
        committer="c",
        epoch=1,
        proposals=("p", "q"),
    )
    assert decode_event(encode_event(event)) == event


@given(st.binary(max_size=100))
def test_a_dead_letter_keeps_any_bytes(body: bytes) -> None:
    letter = DeadLetter(
        id="c/t/0/1",
        code="unreadable",
        reason="why",
        cluster="c",
        topic="t",
        partition=0,
        offset=1,
        appended=1,
        headers={"ce_id": "p"},
        body=body,
        body_bytes=len(body),
        time=2,
    )
    assert decode_dead_letter(encode_dead_letter(letter)) == letter


@pytest.mark.parametrize("cut", [b"====", b"a", b"YQ", b"Y\nQ=="])
def test_a_dead_letter_takes_exact_base64_only(cut: bytes) -> None:
    letter = DeadLetter(
        id="i",
        code="unreadable",
        reason="why",
        cluster="c",
        topic="t",
        partition=0,
        offset=1,
        appended=1,
        headers={},
        body=b"abc",
        body_bytes=3,
        time=2,
    )
    data = json.loads(encode_dead_letter(letter)) | {"body": cut.decode()}
    with pytest.raises(UnreadableMessage, match="no base64"):
        decode_dead_letter(json.dumps(data).encode())


def proposal(**changes: Any) -> bytes:
    body: dict[str, Any] = {
        "format": 1,
        "id": "p",
        "table": "t",
        "created": 1,
        "author": "a test",
        "operation": {"type": "append", "files": [{"path": "a", "partitionValues": {"d": None}, "size": 1}]},
    }
    body["operation"]["files"][0] |= {"modificationTime": 1, **changes.pop("file", {})}
    return json.dumps(body | changes).encode()


def test_a_null_partition_value_is_stored_as_logs_store_it() -> None:
    body = decode_proposal(proposal()).operation
    assert body is not None
    operation = operation_of(body)
    assert isinstance(operation, Append)
    assert operation.files[0].partition_values == {"d": NULL_PARTITION}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "EOF"),
        (b"null", "object"),
        (b"[]", "object"),
        (b"\xff\xfe{}", "JSON"),
        (b"\xef\xbb\xbf" + proposal(), "JSON"),
        (b"[" * 1_000_000, "recursion"),
        (b'{"format":1,' + b'"a":{' * 50_000, "recursion"),
        (proposal() + b"{}", "trailing"),
        (proposal(file={"size": float("nan")}), "size"),
        (proposal(file={"size": float("inf")}), "size"),
        (proposal(file={"size": 1.0}), "size"),
        (proposal(file={"size": True}), "size"),
        (proposal(file={"size": "1"}), "size"),
        (proposal(file={"size": 2**63}), "size"),
        (proposal(file={"size": -1}), "size"),
        (proposal(file={"path": 7}), "path"),
        (proposal(file={"path": "a" * 5_000}), "path"),
        (proposal(file={"partitionValues": {"d": 1}}), "partitionValues"),
        (proposal(file={"minValues": {"d": None}}), "minValues"),
        (proposal(file={"partition_values_": {}}), "partition_values_"),
        (proposal(format=True), "number of the message's format"),
        (proposal(format=1.0), "number of the message's format"),
        (proposal(format=2), "knows messages of format 1, not 2"),
        (proposal(operation={"type": "vacuum"}), "vacuum"),
        (proposal(operation={"type": None}), "type"),
        (proposal(operation={"type": "x" * 200_000}), "xxx"),
        (proposal(**{"k" * 200_000: 1}), "kkk"),
        (proposal(**{"\x1b[2J": 1}), r"\\x1b"),
        (proposal().replace(b'"t"', b'"\\ud800"'), "JSON"),
        (proposal().replace(b'"format": 1', b'"format": 1, "id": "q"'), "'id' comes twice"),
        (proposal().replace(b'"size": 1', b'"size": 1, "size": 2'), "'size' comes twice"),
        (proposal().replace(b'"size": 1', b'"size": ' + b"9" * 100_000), "out of range"),
    ],
    ids=lambda value: repr(value[:40]),
)
def test_what_is_no_proposal_is_refused_in_few_words(data: bytes, said: str) -> None:
    with pytest.raises(UnreadableMessage, match=said) as refused:
        decode_proposal(data)
    assert len(str(refused.value)) <= MAX_PROBLEM_CHARS
    assert str(refused.value).isprintable()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_proposal_or_unreadable(data: bytes) -> None:
    with suppress(UnreadableMessage):
        assert isinstance(decode_proposal(data), Proposal)


@pytest.mark.parametrize("decode", [decode_event, decode_dead_letter, decode_claimed], ids=lambda found: found.__name__)
@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 100_000, b'{"type":"later","format":1}', b"\xff"])
def test_other_messages_are_unreadable_in_the_same_way(decode: Callable[[bytes], object], data: bytes) -> None:
    with pytest.raises(UnreadableMessage):
        decode(data)


def test_a_claimed_operation_with_a_key_twice_is_unreadable() -> None:
    data = b'{"format":1,"operation":{"type":"delete","paths":[],"paths":["a"]}}'
    with pytest.raises(UnreadableMessage, match="twice"):
        decode_claimed(data)


def test_what_is_told_may_have_fields_of_later() -> None:
    data = json.loads(encode_event(receipt_event(Committed(3, "p"), "t", 1))) | {"later": {"deep": [1]}}
    assert decode_event(json.dumps(data).encode()) == receipt_event(Committed(3, "p"), "t", 1)


def test_what_is_told_in_a_format_of_later_is_not_guessed() -> None:
    data = json.loads(encode_event(receipt_event(Committed(3, "p"), "t", 1))) | {"format": 2}
    with pytest.raises(UnreadableMessage, match="update it"):
        decode_event(json.dumps(data).encode())


def test_a_rejection_with_a_code_of_later_is_a_rejection() -> None:
    event = ReceiptEvent(proposal="p", outcome="rejected", code="of_later", reason="the moon is full", time=1)
    assert event.to_receipt() == Rejected(RejectCode.INVALID, "the moon is full", "p")


@pytest.mark.parametrize("outcome", ["committed", "duplicate"])
def test_what_was_accepted_has_a_version(outcome: str) -> None:
    data = json.dumps({"type": "receipt", "format": 1, "proposal": "p", "outcome": outcome, "time": 1})
    with pytest.raises(UnreadableMessage, match="version"):
        decode_event(data.encode())


@pytest.mark.parametrize(
    "file",
    [
        AddFile("\ud800", {}, 1, 1),
        AddFile("a", {"\ud800": "x"}, 1, 1),
        AddFile("a", {}, 1, 1, min_values={"\ud800": "x"}),
        AddFile("a", {}, 1, 1, stats="\ud800"),
    ],
    ids=["path", "partition", "column", "stats"],
)
def test_texts_that_are_no_unicode_are_not_sent(file: AddFile) -> None:
    with pytest.raises(UnreadableMessage):
        encode_proposal(new_proposal(Append((file,)), proposal_id="p", table="t", created_ms=1, author="a test"))


def test_what_no_committer_would_read_is_not_sent() -> None:
    with pytest.raises(UnreadableMessage, match="proposal p can't be sent: size"):
        new_proposal(Append((AddFile("a", {}, -1, 1),)), proposal_id="p", table="t", created_ms=1, author="a test")


def test_defaults_take_no_room() -> None:
    sent = new_proposal(Append((AddFile("a", {}, 1, 1),)), proposal_id="p", table="t", created_ms=1, author="a test")
    assert json.loads(encode_proposal(sent)) == {
        "format": 1,
        "id": "p",
        "table": "t",
        "created": 1,
        "author": "a test",
        "operation": {
            "type": "append",
            "files": [{"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1}],
        },
    }


def test_headers_are_text_whatever_the_author_is_called() -> None:
    made = attributes(kind=PROPOSAL, event_id="p", source="job ü%20/x", subject="p", time_ms=253_402_300_799_999)
    assert made["ce_source"] == "job%20%C3%BC%20/x"
    assert made["ce_time"] == "9999-12-31T23:59:59.999+00:00"


def test_a_claimed_operation_says_its_format() -> None:
    assert json.loads(encode_claimed(body_of(Restore(3)))) == {
        "format": 1,
        "operation": {"type": "restore", "version": 3},
    }
    assert ClaimedOperation.model_fields["format"].is_required()
