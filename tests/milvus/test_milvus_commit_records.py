"""Commit records as bytes: every one is read as it was written, belongs to one manifest, and is believed only whole."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.messages.operations import RejectCode, Writer
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import Decision, Settled, Term, record_of
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.milvus.committed.records import (
    ManifestId,
    VersionRecord,
    commit_body,
    decode_record,
    digest_of,
    encode_record,
    parse_key,
)
from headgate_table.milvus.rules.file_changes import FileCounts

HERE = ManifestId(7, digest_of(b"manifest"))
counts = st.integers(0, 2**63 - 1)
texts = st.text(min_size=1, max_size=10)
decisions = st.builds(
    Decision,
    id=texts,
    accepted=st.just(False),
    offset=counts,
    writer=st.none() | st.builds(Writer, texts, counts),
    code=st.sampled_from(RejectCode),
    reason=st.text(max_size=20),
)
bodies = st.builds(
    commit_body,
    nonce=texts,
    time_ms=counts,
    operation=texts,
    counts=st.builds(FileCounts, counts, counts, counts, counts),
    decisions=st.lists(decisions, max_size=3),
    term=st.builds(Term, counts, texts),
    settled=st.builds(Settled, st.builds(Source, texts, texts, counts), counts, counts, counts),
    rebound=st.booleans(),
)


def a_body() -> dict[str, object]:
    settled = Settled(Source("c", "t", 0), 0, 1, 5)
    return commit_body(
        nonce="n",
        time_ms=5,
        operation="Milvus",
        counts=FileCounts(1),
        decisions=[Decision("p", accepted=True, offset=0)],
        term=Term(1, "one"),
        settled=settled,
    )


@given(
    bodies,
    st.none() | st.builds(ManifestId, st.integers(1, 6), st.just(digest_of(b"parent"))),
    st.booleans(),
    counts,
    st.none() | st.text(max_size=20),
)
def test_a_record_is_read_as_it_was_written(
    body: dict[str, object], parent: ManifestId | None, is_changed: bool, since_memory: int, memory: str | None
) -> None:
    summary = body["summary"]
    assert isinstance(summary, dict)
    record = VersionRecord(
        HERE, parent, record_of(body), body, is_changed, FileCounts(*summary.values()), since_memory, memory
    )
    assert decode_record(encode_record(record), HERE, "record") == record


def test_a_seal_has_no_commit() -> None:
    seal = VersionRecord(HERE, ManifestId(6, digest_of(b"parent")), None, since_memory=3)
    assert decode_record(encode_record(seal), HERE, "record") == seal


def test_its_key_names_the_manifest() -> None:
    assert parse_key(HERE.key) == HERE


@pytest.mark.parametrize("key", ["_headgate/commits/x", f"_headgate/commits/7-{'0' * 64}.json", "_headgate/claims/a"])
def test_other_keys_are_no_records(key: str) -> None:
    assert parse_key(key) is None


@pytest.mark.parametrize(
    "change",
    [
        {"version": 8},
        {"manifest": "0" * 64},
        {"parent": [7, "0" * 64]},
        {"parent": [-1, "0" * 64]},
        {"parent": "6"},
        {"commitInfo": 3},
        {"sinceMemory": -1},
        {"memory": 5},
    ],
    ids=str,
)
def test_a_record_that_contradicts_itself_is_not_believed(change: dict[str, object]) -> None:
    body = json.loads(encode_record(VersionRecord(HERE, None, record_of(a_body()), a_body())))
    with pytest.raises(CorruptTable, match="no commit record"):
        decode_record(json.dumps(body | change).encode(), HERE, "record")


def test_a_record_of_a_newer_release_is_told_as_such() -> None:
    body = json.loads(encode_record(VersionRecord(HERE, None, None)))
    with pytest.raises(UnsupportedTable, match="update"):
        decode_record(json.dumps(body | {"format": 2}).encode(), HERE, "record")


@given(st.binary(max_size=60))
def test_rubbish_is_damage(data: bytes) -> None:
    with pytest.raises((CorruptTable, UnsupportedTable)):
        decode_record(data, HERE, "record")
