"""Writes schemas/headgate_schemas/json_schemas from the models. `test_messages_schemas` keeps the files equal to it.

Run it after a change of the models: `python tests/tooling/pages/message_schemas.py`.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from headgate_schemas.messages.dead_letters import DeadLetter
from headgate_schemas.messages.events import CommitEvent, ReceiptEvent
from headgate_schemas.messages.message_shape import FORMAT, AskedMessage
from headgate_schemas.messages.proposals import ClaimedOperation, Proposal
from tooling.pages.settings_rows import field_docstrings

FOLDER = Path(__file__).resolve().parents[3] / "schemas/headgate_schemas/json_schemas"

MESSAGES: Mapping[str, type[BaseModel]] = {
    "proposal": Proposal,
    "claimed-operation": ClaimedOperation,
    "receipt": ReceiptEvent,
    "commit": CommitEvent,
    "dead-letter": DeadLetter,
}
"""By the name of the message, which is also that of its file."""

_BESIDES: Mapping[str, dict[str, Any]] = {
    "proposal": {
        "oneOf": [
            {"required": ["operation"], "properties": {"operation": {"type": "object"}}},
            {"required": ["claim"], "properties": {"claim": {"type": "object"}}},
        ],
        "if": {"required": ["isolation"], "properties": {"isolation": {"const": "serializable"}}},
        "then": {"required": ["basedOn"], "properties": {"basedOn": {"type": "integer"}}},
    },
    "receipt": {
        "if": {"properties": {"outcome": {"const": "rejected"}}},
        "then": {"required": ["code"]},
        "else": {"required": ["version"]},
    },
}
"""What the validators of whole models demand, which JSON Schemas can't take over by themselves."""


def schemas() -> dict[str, str]:
    """The text of each file, by its name."""
    return {f"{name}.json": json.dumps(_schema(name, model), indent=2) + "\n" for name, model in MESSAGES.items()}


def _schema(name: str, model: type[BaseModel]) -> dict[str, Any]:
    body = model.model_json_schema(by_alias=True, mode="validation")
    definitions = {found.__name__: found for found in _models(AskedMessage)}
    for title, definition in body.get("$defs", {}).items():
        _describe(definition, definitions[title])
    _describe(body, model)
    if not issubclass(model, AskedMessage):
        # Told messages are written without nulls, and with everything else.
        body["required"] = [
            field.alias
            for field in model.model_fields.values()
            if field.is_required() or field.get_default(call_default_factory=True) is not None
        ]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:headgate:{name}:{FORMAT}",
    }
    return head | body | _BESIDES.get(name, {})


def _models(parent: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in parent.__subclasses__():
        yield model
        yield from _models(model)


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Put the docstrings of the model's fields into the schema, and take out the titles that only repeat names."""
    texts = field_docstrings(model)
    for name, field in model.model_fields.items():
        described = schema["properties"][field.alias]
        described.pop("title", None)
        if name in texts:
            described["description"] = texts[name]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, content in schemas().items():
        (FOLDER / file).write_text(content, encoding="utf-8")
        sys.stdout.write(f"{file}\n")
