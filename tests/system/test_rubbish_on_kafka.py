"""Rubbish on a real topic, and claims that lie on a real object store: set aside with a receipt, and the next good one commits."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

import headgate
from headgate_bus.claims import FOLDER, MAX_COMPRESSED_BYTES
from headgate_bus.interface import Bus, Message, Topic
from headgate_bus.open import open_bus
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.operations import Append
from headgate_schemas.messages.proposals import encode_proposal, new_proposal
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from support.memory import peak_bytes
from support.torture.judge.evidence import everything, receipts_of
from support.torture.stage.stage import AMBIENT, Stage, a_file, stopped

PATIENCE_S = 120.0
BLOCK_BYTES = 128 << 10
BOMB_BYTES = 10 << 30
GROWTH_BYTES = 128 << 20
"""What a committer may take for refusing all of it: a few times the bound on one part of a claim, and far below the bomb."""


def bomb() -> bytes:
    """A zstd frame of a third of a megabyte: 10 GB of zeros, as blocks of one byte that is to be repeated."""
    magic, descriptor, window = b"\x28\xb5\x2f\xfd", b"\x00", b"\x38"
    repeated, last = 1 << 1, 1
    blocks = BOMB_BYTES // BLOCK_BYTES
    block = (BLOCK_BYTES << 3 | repeated).to_bytes(3, "little") + b"\x00"
    end = (BLOCK_BYTES << 3 | repeated | last).to_bytes(3, "little") + b"\x00"
    return magic + descriptor + window + block * (blocks - 1) + end


def asked(stage: Stage, proposal: str, **otherwise: Any) -> bytes:
    """A good proposal, but for what is said otherwise."""
    append = Append((a_file(proposal),))
    good = new_proposal(append, proposal_id=proposal, table=stage.table, created_ms=AMBIENT.now_ms(), author="t")
    body = json.loads(encode_proposal(good))
    if "claim" in otherwise:
        del body["operation"]
    return json.dumps(body | otherwise).encode()


def claim_of(store: Store, name: str, laid: bytes | None, **otherwise: Any) -> dict[str, Any]:
    """A claim as its author would make it for these bytes, but for what is said otherwise. None: nothing lies there."""
    digest = hashlib.sha256(laid or b"").hexdigest()
    key = f"{FOLDER}20260101-{name}-{digest[:12]}.json.zst"
    if laid is not None:
        store.put(key, laid)
    return {"key": key, "sha256": digest, "compressedBytes": len(laid or b""), "bytes": 4 << 20, "files": 1} | otherwise


def rubbish(stage: Stage) -> Iterator[tuple[str, bytes, str]]:
    """The id in the headers, the body, and the code of its receipt."""
    yield "not-json", b"{", "unreadable"
    yield "no-text", bytes(range(256)), "unreadable"
    yield "wrong-type", asked(stage, "wrong-type", created="yesterday"), "unreadable"
    yield "unknown-operation", asked(stage, "unknown-operation", operation={"type": "explode"}), "unreadable"
    yield "another-key", asked(stage, "another-key", table=f"{stage.table}/../other"), "unreadable"
    with closing(open_store(stage.table, stage.scene.stores, AMBIENT)) as store:
        for name, claim, code in (
            ("bomb", claim_of(store, "bomb", bomb()), "unreadable"),
            ("honest-bomb", claim_of(store, "honest-bomb", bomb(), bytes=BOMB_BYTES), "over_bound"),
            ("heavy", claim_of(store, "heavy", None, compressedBytes=100 << 20), "over_bound"),
            ("other-digest", claim_of(store, "other-digest", b"anything", sha256="0" * 64), "unreadable"),
            ("lost", claim_of(store, "lost", None, compressedBytes=10), "unreadable"),
        ):
            yield name, asked(stage, name, claim=claim), code


@pytest.fixture
def bus(kafka_stage: Stage) -> Iterator[Bus]:
    with closing(open_bus(kafka_stage.scene.bus, AMBIENT)) as opened:
        yield opened


def test_all_of_it_is_set_aside_and_what_comes_behind_it_commits(kafka_stage: Stage, bus: Bus) -> None:
    committer = kafka_stage.committer()
    producer = kafka_stage.producer()
    assert isinstance(producer.append([a_file("before")]).wait(PATIENCE_S), headgate.Committed)
    before = peak_bytes(committer.pid)

    sent = list(rubbish(kafka_stage))
    for name, body, _ in sent:
        headers = attributes(kind=PROPOSAL, event_id=name, source="t", subject=name, time_ms=AMBIENT.now_ms())
        bus.append(Topic.PROPOSALS, [Message(kafka_stage.table, headers, body)])
    assert isinstance(producer.append([a_file("behind")]).wait(PATIENCE_S), headgate.Committed)

    assert peak_bytes(committer.pid) - before < GROWTH_BYTES
    stopped(committer)
    receipts = receipts_of(everything(bus, Topic.EVENTS))
    assert {name: receipts.get(name) for name, _, _ in sent} == {name: [("rejected", code)] for name, _, code in sent}
    letters = [json.loads(record.body) for record in everything(bus, Topic.DEAD_LETTERS)]
    assert [letter["code"] for letter in letters] == [code for _, _, code in sent]
    assert kafka_stage.opened().snapshot().paths() == ["part=a/before.parquet", "part=a/behind.parquet"]


def test_the_bomb_is_one() -> None:
    """Else the test above would show nothing: the frame is small enough to be fetched, and what comes out has no end in sight."""
    import zstandard

    frame = bomb()
    assert len(frame) < MAX_COMPRESSED_BYTES
    with zstandard.ZstdDecompressor().stream_reader(frame) as reader:
        assert sum(len(reader.read(1 << 20)) for _ in range(300)) == 300 << 20
