"""The JSON Schemas in the room are those of the models, and agree with them about what is a message."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.proposals import decode_proposal
from tooling.pages.message_schemas import FOLDER, schemas

GOOD: dict[str, Any] = {
    "format": 1,
    "id": "p-1",
    "table": "s3://lake/events",
    "created": 1,
    "author": "a test",
    "operation": {"type": "delete", "paths": ["a.parquet"]},
}
CLAIM = {"key": "_headgate/claims/a.zst", "sha256": "0" * 64, "compressedBytes": 1, "bytes": 1, "files": 1}


def test_the_files_are_what_the_generator_writes() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == schemas()


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_each_is_a_json_schema(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"operation": None, "claim": CLAIM},
        {"isolation": "serializable", "basedOn": 3, "reads": "a = 1"},
        {"writer": {"app": "nightly", "seq": 0}},
        {"operation": {"type": "create", "schemaString": "{}"}},
        {"operation": {"type": "restore", "version": 2**63 - 1}},
    ],
    ids=str,
)
def test_model_and_schema_take_the_same_proposals(change: dict[str, Any]) -> None:
    proposal = GOOD | change
    jsonschema.Draft202012Validator(json.loads(schemas()["proposal.json"])).validate(proposal)
    assert decode_proposal(json.dumps(proposal).encode()).id == "p-1"


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": "1"},
        {"id": ""},
        {"id": "with blank"},
        {"id": "x" * 201},
        {"table": "line\nbreak"},
        {"created": -1},
        {"created": 10**15},
        {"author": ""},
        {"unknown": 1},
        {"operation": None},
        {"claim": CLAIM},
        {"operation": None, "claim": CLAIM | {"key": "_headgate/claims/.."}},
        {"operation": None, "claim": CLAIM | {"key": "_headgate/claims/a/b"}},
        {"operation": None, "claim": CLAIM | {"sha256": "A" * 64}},
        {"isolation": "serializable"},
        {"isolation": "read-committed"},
        {"writer": {"app": "", "seq": 1}},
        {"writer": {"app": "a", "seq": -1}},
        {"operation": {"type": "vacuum"}},
        {"operation": {"paths": ["a.parquet"]}},
        {"operation": {"type": "delete", "paths": [""]}},
        {"operation": {"type": "delete", "paths": "a.parquet"}},
        {"operation": {"type": "delete", "pathes": ["a.parquet"]}},
        {"operation": {"type": "restore", "version": 2**63}},
        {"operation": {"type": "append", "files": [{"path": "a", "partitionValues": {}, "size": "1"}]}},
    ],
    ids=str,
)
def test_model_and_schema_refuse_the_same_proposals(change: dict[str, Any]) -> None:
    proposal = GOOD | change
    assert not jsonschema.Draft202012Validator(json.loads(schemas()["proposal.json"])).is_valid(proposal)
    with pytest.raises(UnreadableMessage):
        decode_proposal(json.dumps(proposal).encode())


@pytest.mark.parametrize(
    ("name", "change", "valid"),
    [
        ("receipt", {}, True),
        ("receipt", {"fieldOfLater": 1}, True),
        ("receipt", {"outcome": "rejected"}, False),
        ("receipt", {"outcome": "rejected", "code": "of_later"}, True),
        ("receipt", {"format": 2}, False),
    ],
)
def test_what_is_told_may_gain_fields(name: str, change: dict[str, Any], valid: bool) -> None:
    told = {"type": "receipt", "format": 1, "proposal": "p", "outcome": "committed", "version": 3, "time": 1} | change
    assert jsonschema.Draft202012Validator(json.loads(schemas()[f"{name}.json"])).is_valid(told) is valid
