"""docs/messages.md shows real messages and leaves nothing out."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from headgate_schemas.messages.cloud_events import COMMIT, DEAD_LETTER, PROPOSAL, RECEIPT, attributes
from headgate_schemas.messages.dead_letters import decode_dead_letter, encode_dead_letter
from headgate_schemas.messages.events import decode_event, encode_event
from headgate_schemas.messages.message_shape import MAX_BODY_BYTES
from headgate_schemas.messages.operation_bodies import body_of
from headgate_schemas.messages.operations import RejectCode
from headgate_schemas.messages.proposals import (
    Proposal,
    decode_claimed,
    decode_proposal,
    encode_claimed,
    encode_proposal,
)
from tooling.pages.message_schemas import MESSAGES, schemas

PAGE = (Path(__file__).resolve().parents[2] / "docs/messages.md").read_text(encoding="utf-8")
EXAMPLES: list[tuple[str, str]] = re.findall(r'```json title="([a-z-]+)"\n(.*?)```', PAGE, re.DOTALL)

AGAIN: dict[str, Callable[[bytes], bytes]] = {
    "proposal": lambda data: encode_proposal(decode_proposal(data)),
    "claimed-operation": lambda data: encode_claimed(body_of(decode_claimed(data))),
    "receipt": lambda data: encode_event(decode_event(data)),
    "commit": lambda data: encode_event(decode_event(data)),
    "dead-letter": lambda data: encode_dead_letter(decode_dead_letter(data)),
}
"""Reading a message and writing it again."""


def table_under(heading: str) -> list[list[str]]:
    """The cells of the first table after a text, without its head."""
    rows = re.search(r"(?:^\|.*\n)+", PAGE[PAGE.index(heading) :], re.MULTILINE)
    assert rows
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[0].splitlines()[2:]]


def codes_in(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", text))


def with_partition_nulls(value: Any) -> Any:
    """A null partition value may be written in two ways; logs have only the longer one."""
    return json.loads(json.dumps(value).replace('"region": null', '"region": "__HIVE_DEFAULT_PARTITION__"'))


def test_every_message_has_an_example() -> None:
    assert {name for name, _ in EXAMPLES} == set(MESSAGES) == set(AGAIN)


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_an_example_is_read_and_written_again_as_it_is(name: str, text: str) -> None:
    again = json.loads(AGAIN[name](text.encode()))
    assert with_partition_nulls(again) == with_partition_nulls(json.loads(text))


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_an_example_is_valid_by_its_json_schema(name: str, text: str) -> None:
    schema = json.loads(schemas()[f"{name}.json"])
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))


def test_the_dead_letter_holds_the_bytes_that_it_says() -> None:
    [text] = [text for name, text in EXAMPLES if name == "dead-letter"]
    assert decode_dead_letter(text.encode()).is_whole


def test_every_code_is_explained_and_no_other() -> None:
    listed = [row[0].strip("`") for row in table_under("| code | means |")]
    assert sorted(listed) == sorted(code.value for code in RejectCode)


def test_every_code_is_said_to_belong_to_an_operation_or_to_all() -> None:
    special = codes_in(PAGE[PAGE.index("Any of them may also be refused") :].split("|")[0])
    by_operation = set().union(*(codes_in(row[2]) for row in table_under("| `type` | fields")))
    assert special | by_operation == {code.value for code in RejectCode}


def test_every_operation_is_listed_with_its_own_fields() -> None:
    definitions = Proposal.model_json_schema(by_alias=True)["$defs"]
    operations = {
        found["properties"]["type"]["const"]: set(found["properties"]) - {"type"}
        for found in definitions.values()
        if "type" in found["properties"] and "const" in found["properties"]["type"]
    }
    listed = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1])) for row in table_under("| `type` | fields")}
    assert listed == operations


def test_every_field_of_a_proposal_is_explained() -> None:
    listed = [row[0].strip("`") for row in table_under("| field | means |")]
    assert sorted(listed) == sorted(str(field.alias) for field in Proposal.model_fields.values())


def test_every_header_is_listed() -> None:
    carried = attributes(kind=PROPOSAL, event_id="i", source="s", subject="p", time_ms=0)
    assert sorted(row[0].strip("`") for row in table_under("| header |")) == sorted(carried)


def test_every_kind_is_named() -> None:
    [kinds] = [row[1:] for row in table_under("| header |") if row[0] == "`ce_type`"]
    assert [kind.strip("`") for kind in kinds] == [PROPOSAL, RECEIPT, COMMIT, DEAD_LETTER]


def test_the_bound_of_a_body_is_the_one_in_force() -> None:
    assert f"at most {MAX_BODY_BYTES >> 10} KiB" in PAGE
