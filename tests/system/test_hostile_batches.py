"""Batches that no honest client sends, through a committer's process: dead letters, no memory to speak of, and what comes behind commits."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

import headgate
from headgate_bus.interface import Bus, Topic
from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.kafka.fetched.fetching import POLL_BYTES
from headgate_bus.open import open_bus
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.operations import Append
from headgate_schemas.messages.proposals import encode_proposal, new_proposal
from support.kafka.raw_batches import RawRecord, bomb_batch, send_batch, zstd_batch
from support.memory import peak_bytes
from support.torture.judge.evidence import everything, receipts_of
from support.torture.stage.stage import AMBIENT, Stage, a_file, stopped

PATIENCE_S = 120.0
BOMBS = 4
BOMB_BYTES = 512 << 20
GROWTH_BYTES = 4 * POLL_BYTES
"""What a poll may hold, what is kept of it until it is settled, and what unpacking takes beside it; far below the bombs."""
BAD = (b"\xff\xfe", b"\xfd")


@pytest.fixture
def bus(kafka_stage: Stage) -> Iterator[Bus]:
    with closing(open_bus(kafka_stage.scene.bus, AMBIENT)) as opened:
        yield opened


def sent(stage: Stage, topic: Topic, batch: bytes) -> int:
    address = parse_kafka_address(stage.scene.bus)
    return send_batch(address.servers[0], address.topic(topic), batch)


def proposal_of(stage: Stage, name: str, *more: tuple[bytes, bytes | None]) -> RawRecord:
    """A good one, with more headers than it needs."""
    now_ms = AMBIENT.now_ms()
    proposal = new_proposal(Append((a_file(name),)), proposal_id=name, table=stage.table, created_ms=now_ms, author="t")
    headers = attributes(kind=PROPOSAL, event_id=name, source="t", subject=name, time_ms=now_ms)
    own = [(key.encode(), value.encode()) for key, value in headers.items()]
    return RawRecord(stage.table.encode(), encode_proposal(proposal), [*more, *own])


def test_they_are_set_aside_in_bounded_memory_and_what_is_good_commits(kafka_stage: Stage, bus: Bus) -> None:
    committer = kafka_stage.committer()
    producer = kafka_stage.producer()
    assert isinstance(producer.append([a_file("before")]).wait(PATIENCE_S), headgate.Committed)
    before = peak_bytes(committer.pid)

    good = proposal_of(kafka_stage, "bad-header", BAD)
    no_body = RawRecord(None, None, [(b"ce_subject", b"nothing"), (b"ce_type", PROPOSAL.encode())])
    many = proposal_of(kafka_stage, "many-headers", *((b"h%d" % number, b"") for number in range(10_000)))
    assert (
        sent(kafka_stage, Topic.PROPOSALS, zstd_batch([RawRecord(b"k", b"\x00\x1b[2J", [BAD]), good, no_body, many]))
        == 0
    )
    beside = proposal_of(kafka_stage, "beside-a-bomb")
    bombs = [bomb_batch(BOMB_BYTES, before=[beside] if number == 0 else []) for number in range(BOMBS)]
    for bomb in bombs:
        assert sent(kafka_stage, Topic.PROPOSALS, bomb) == 0
        assert sent(kafka_stage, Topic.EVENTS, bomb) == 0
    assert sent(kafka_stage, Topic.EVENTS, zstd_batch([RawRecord(b"k", b"{}", [BAD])])) == 0
    assert isinstance(producer.append([a_file("behind")]).wait(PATIENCE_S), headgate.Committed)
    grown = peak_bytes(committer.pid) - before

    stopped(committer)
    assert grown < GROWTH_BYTES
    names = ["bad-header", "before", "behind", "beside-a-bomb", "many-headers"]
    assert kafka_stage.opened().snapshot().paths() == [f"part=a/{name}.parquet" for name in names]
    letters = [json.loads(record.body) for record in everything(bus, Topic.DEAD_LETTERS)]
    assert [letter["code"] for letter in letters] == ["unreadable"] * 2 + ["over_bound"] * BOMBS
    assert [letter["bodyBytes"] for letter in letters[2:]] == [len(bomb) for bomb in bombs]
    assert "MAX_BATCH_BYTES" in letters[-1]["reason"]
    told = receipts_of(record for record in everything(bus, Topic.EVENTS) if b'"type":"receipt"' in record.body)
    assert told["nothing"] == [("rejected", "unreadable")]
    assert {told[name][0][0] for name in ("bad-header", "beside-a-bomb", "many-headers")} == {"committed"}
