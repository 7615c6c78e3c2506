"""What the page shows of a proposal's message, whatever its bytes are."""

import json

import pytest

from headgate.page.proposal_preview import MAX_AUTHOR_CHARS, glimpse
from headgate_bus.interface import Record


def record(body: bytes) -> Record:
    return Record(3, 17, 1_780_000_000_000, "s3://lake/events", body, {"ce_subject": "from-the-header"})


def test_author_operation_and_number_of_files_are_taken_from_the_message() -> None:
    body = {"id": "a", "author": "sink@x", "operation": {"type": "rewrite", "removes": ["1", "2"], "adds": [{}]}}
    seen = glimpse(record(json.dumps(body).encode()))
    assert (seen.id, seen.author, seen.operation, seen.files) == ("a", "sink@x", "rewrite", 3)
    assert (seen.table, seen.partition, seen.offset) == ("s3://lake/events", 3, 17)


def test_a_claimed_proposal_tells_how_many_files_it_names() -> None:
    seen = glimpse(record(b'{"id": "a", "claim": {"files": 40000}}'))
    assert (seen.operation, seen.files) == ("", 40_000)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x80\x04",
        b"[]",
        b"null",
        b'{"id": 7, "operation": [], "claim": "x"}',
        b'{"operation": {"type": {}}}',
        b'{"claim": {"files": -1}}',
        b'{"claim": {"files": true}}',
        b"[" * 100_000,
    ],
)
def test_whatever_the_bytes_are_there_is_something_to_show(body: bytes) -> None:
    seen = glimpse(record(body))
    assert (seen.id, seen.author, seen.operation, seen.files) == ("from-the-header", "", "", None)


def test_long_texts_are_cut() -> None:
    seen = glimpse(record(json.dumps({"author": "x" * 5_000}).encode()))
    assert len(seen.author) == MAX_AUTHOR_CHARS
