"""Mutated messages by the thousand: bytes, JSON and headers of real ones, each read cleanly or refused cleanly.

A refusal is short and printable, can be told to the author, and its dead letter fits on the bus. What is read must be
written again and then read the same.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from headgate_bus.interface import Record, Topic
from headgate_bus.kafka.records.records import as_records
from headgate_bus.message_bounds import check_messages
from headgate_committer.proposals.answers import letter_message, receipt_messages, set_aside
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord, take_in
from headgate_schemas.messages.dead_letters import decode_dead_letter, encode_dead_letter
from headgate_schemas.messages.events import ReceiptEvent, decode_event, encode_event
from headgate_schemas.messages.message_shape import MAX_PROBLEM_CHARS, UnreadableMessage
from headgate_schemas.messages.operation_bodies import body_of, operation_of
from headgate_schemas.messages.proposals import decode_claimed, decode_proposal, encode_claimed, encode_proposal
from headgate_schemas.messages.sources import Source
from support.drawn.fuzz_tally import Tally

PAGE = Path(__file__).resolve().parents[3] / "docs/messages.md"
MAX_MEMORY_BYTES = 256 << 20
"""For one message of at most 1 MiB: what Python takes for its worst, a map of a hundred thousand wrong values."""
_MAX_REASON_CHARS = 2 * MAX_PROBLEM_CHARS

_HUGE_ONE_IN = 400
"""Messages of full size take a hundred times as long as others."""
_TEXTS = [
    "",
    "\0",
    "\ud800",
    "\u202e",
    "é",
    "e\u0301",
    "../..",
    "%2e%2e/",
    "a" * 5_000,
    "\x1b[2J",
    "1",
    "null",
    "\U0001f6a2",
]
_NUMBERS = [0, -1, 1.0, 1e308, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, float("nan"), float("inf"), True]
_TOKENS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b"\\",
    b"\\ud800",
    b"null",
    b"1e999",
    b"-",
    b"\xff",
    b"\xef\xbb\xbf",
    b"/*",
]
_HEADERS: list[tuple[bytes, bytes | None]] = [
    (b"ce_type", b"headgate.receipt.v1"),
    (b"ce_type", b""),
    (b"ce_type", None),
    (b"ce_subject", b""),
    (b"ce_subject", "é".encode()),
    (b"ce_subject", b"\xff\xfe"),
    (b"ce_subject", b"x" * 10_000),
    (b"", b""),
    (b"n" * 5_000, b"v" * 5_000),
    (b"ce_id", b"\r\nset: cookie"),
]


class _Partition(NamedTuple):
    """As the Kafka client names it."""

    partition: int


def corpus() -> list[tuple[str, bytes]]:
    """Every example of the documentation, with its kind."""
    found = re.findall(r'```json title="([a-z-]+)"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [(name, json.dumps(json.loads(text)).encode()) for name, text in found]


def run(count: int, seed: int) -> Tally:
    """Try so many mutated messages."""
    draw = random.Random(seed)
    whole = corpus()
    tally = Tally(MAX_MEMORY_BYTES, max_seconds=10.0)
    for _ in range(count):
        kind, data = draw.choice(whole)
        data = mutated(draw, data, [body for _, body in whole])
        headers = _headers(draw)
        key = (
            _table_in(data)
            if draw.random() < 0.8
            else draw.choice([b"", None, b"\xff", b"s3://lake/other", b"k" * 3_000])
        )
        tally.attempt(data, partial(_READ[kind], data, headers, key))
    return tally


def mutated(draw: random.Random, data: bytes, whole: list[bytes]) -> bytes:
    """The message with some of its bytes or of its JSON changed; now and then one that is huge."""
    if draw.randrange(_HUGE_ONE_IN) == 0:
        return _huge(draw, data)
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        data = _structure(draw, data) if draw.random() < 0.6 else _bytes(draw, data, whole)
    return data


def _bytes(draw: random.Random, data: bytes, whole: list[bytes]) -> bytes:
    place = draw.randrange(len(data) + 1)
    match draw.randrange(6):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + data[place + draw.choice([1, 2, 5, 20]) :]
        case 2:
            return data[:place] + draw.choice(_TOKENS) + data[place + draw.choice([0, 1, 3]) :]
        case 3:
            return data[:place] + draw.randbytes(draw.choice([1, 2, 10])) + data[place:]
        case 4:
            other = draw.choice(whole)
            start = draw.randrange(len(other))
            return data[:place] + other[start : start + draw.choice([4, 20, 200])] + data[place:]
        case _:
            return data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]


def _structure(draw: random.Random, data: bytes) -> bytes:
    """One place of the JSON changed; of what is no JSON any more, nothing."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places = _places(value)
    if not places:
        return data
    holder, key = draw.choice(places)
    match draw.randrange(9):
        case 0:
            del holder[key]
        case 1:
            holder[key] = draw.choice(_TEXTS)
        case 2:
            holder[key] = draw.choice(_NUMBERS)
        case 3:
            holder[key] = draw.choice([None, [], {}, [holder[key]], {"type": holder[key]}, [[[[]]]]])
        case 4:
            other, there = draw.choice(places)
            holder[key] = json.loads(json.dumps(other[there]))
        case 5:
            if isinstance(holder, dict):
                holder[draw.choice(_TEXTS)] = holder[key]
            else:
                holder += [holder[key]] * draw.choice([1, 50])
        case 6 | 7:
            holder[key] = draw.choice(_TEXTS if isinstance(holder[key], str) else _NUMBERS)
        case _:
            return _key_twice(json.dumps(value), draw).encode()
    return json.dumps(value, ensure_ascii=draw.random() < 0.7).encode("utf-8", "surrogatepass")


def _key_twice(text: str, draw: random.Random) -> str:
    opened = [found.end() for found in re.finditer(r"\{(?=\")", text)]
    if not opened:
        return text
    place = draw.choice(opened)
    name = re.match(r'"[^"]*"', text[place:])
    return text if name is None else f"{text[:place]}{name[0]}: 1, {text[place:]}"


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in the JSON, as what holds it and under which key."""
    found: list[tuple[Any, Any]] = []
    open_ones = [value]
    while open_ones:
        holder = open_ones.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            open_ones.append(holder[key])
    return found


def _huge(draw: random.Random, data: bytes) -> bytes:
    """About as long as the bus takes, or a little longer."""
    many = draw.choice([10_000, 60_000, 150_000])
    frame = b'{"format":1,"id":"p","table":"t","created":1,"author":"a","operation":%s}'
    operations: list[Callable[[], bytes]] = [
        lambda: b"[" * many,
        lambda: b'{"a":' * many,
        lambda: data + b" " * many,
        lambda: frame % (b'{"type":"append","files":[' + b",".join([b"{}"] * many) + b"]}"),
        lambda: frame % (b'{"type":"delete","paths":[' + b",".join([b'"a"'] * many) + b"]}"),
        lambda: frame % (b'{"type":"restore","version":' + b"9" * many + b"}"),
        lambda: frame % (b'{"type":"delete","paths":["' + b"a" * many + b'"]}'),
        lambda: (
            frame
            % (b'{"type":"alter","basedOn":1,"configuration":{' + b",".join(b'"%x":1' % n for n in range(many)) + b"}}")
        ),
        lambda: frame % (b"{" + b",".join(b'"%x":1' % n for n in range(many)) + b"}"),
    ]
    return draw.choice(operations)()


def _headers(draw: random.Random) -> list[tuple[bytes, bytes | None]]:
    """As a broker may hand them over: any bytes, any number, names more than once."""
    plain: list[tuple[bytes, bytes | None]] = [(b"ce_type", b"headgate.proposal.v1"), (b"ce_subject", b"p-1")]
    if draw.random() < 0.5:
        return plain
    chosen = [*plain, *draw.choices(_HEADERS, k=draw.choice([1, 2, 5]))]
    if draw.random() < 0.2:
        chosen.append((draw.randbytes(5), draw.randbytes(20)))
    if draw.random() < 0.01:
        chosen += [(b"h%d" % number, b"v") for number in range(5_000)]
    return chosen


def _table_in(data: bytes) -> bytes:
    """The key that goes with the message, where it still names its table."""
    named = re.search(rb'"table": ?"([^"\\]*)"', data)
    return named[1] if named else b"t"


def _read_proposal(data: bytes, headers: list[tuple[bytes, bytes | None]], key: bytes | None) -> str:
    raw = SimpleNamespace(
        offset=7,
        leader_epoch=3,
        timestamp=1,
        key=key,
        value=data,
        headers=[(name.decode(errors="replace"), text) for name, text in headers],
    )
    [record] = as_records({_Partition(0): [raw]})
    match take_in(record):
        case QueuedProposal(proposal=proposal):
            if proposal.operation is not None:
                body_of(operation_of(proposal.operation))
            if decode_proposal(encode_proposal(proposal)) != proposal:
                raise AssertionError("written and read again, it is another proposal")
            return "proposal"
        case UndecidableRecord() as aside:
            _check_told(aside, record)
            return f"set aside: {aside.code.value}"


def _check_told(aside: UndecidableRecord, record: Record) -> None:
    """What follows from a refusal: a receipt, if there is an id, and a dead letter. Both must fit, and be readable."""
    _check_said(aside.reason)
    letter = letter_message(aside, Source("cluster", "topic", 0), "committer", 2)
    receipts = receipt_messages([set_aside(aside)], aside.table, "committer", 2)
    for topic, messages in ((Topic.DEAD_LETTERS, [letter]), (Topic.EVENTS, receipts)):
        check_messages(topic, messages)
    found = decode_dead_letter(letter.body)
    if not record.body.startswith(found.body) or found.body_bytes != len(record.body):
        raise AssertionError("the dead letter holds other bytes than came")
    for receipt in receipts:
        if not isinstance(decode_event(receipt.body), ReceiptEvent):
            raise AssertionError("the receipt is none")


def _check_said(reason: str) -> None:
    if len(reason) > _MAX_REASON_CHARS:
        raise AssertionError(f"a refusal of {len(reason)} characters")


def _reader(decode: Callable[[bytes], Any], encode: Callable[[Any], bytes], name: str) -> Callable[..., str]:
    """Reads a message of one kind; its headers and key say nothing that the reader asks."""

    def read(data: bytes, _headers: object, _key: object) -> str:
        try:
            message = decode(data)
        except UnreadableMessage as error:
            _check_said(str(error))
            return f"{name} refused"
        if decode(encode(message)) != message:
            raise AssertionError(f"written and read again, it is another {name}")
        return name

    return read


_READ: Mapping[str, Callable[..., str]] = {
    "proposal": _read_proposal,
    "claimed-operation": _reader(
        decode_claimed, lambda operation: encode_claimed(body_of(operation)), "claimed operation"
    ),
    "receipt": _reader(decode_event, encode_event, "event"),
    "commit": _reader(decode_event, encode_event, "event"),
    "dead-letter": _reader(decode_dead_letter, encode_dead_letter, "dead letter"),
}
