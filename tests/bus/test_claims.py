"""Laying large operations on the store, and opening them without trusting anything."""

import hashlib
import json
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest
import zstandard

from headgate_bus.claims import (
    FOLDER,
    KEEP_MS,
    MAX_WINDOW_BYTES,
    ClaimLimits,
    claim_key,
    open_claim,
    plan_sweep,
    put_claim,
    sweep_claims,
)
from headgate_bus.errors import ClaimFault, ClaimRefused
from headgate_schemas.messages.proposals import Claim
from headgate_table.errors import StoreError
from headgate_table.store.interface import ObjectInfo
from support.ambient import START_MS, FakeAmbient
from support.stores.memory import MemoryStore

BODY = json.dumps({"adds": [f"part-{number}.parquet" for number in range(1_000)]}).encode()
ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def clock() -> FakeAmbient:
    return FakeAmbient()


@pytest.fixture
def store(clock: FakeAmbient) -> MemoryStore:
    return MemoryStore(clock)


def put(store: MemoryStore, body: bytes = BODY, proposal_id: str = ID, now_ms: int = START_MS) -> Claim:
    return put_claim(store, proposal_id, body, files=1_000, now_ms=now_ms)


def laid(store: MemoryStore, compressed: bytes, *, size: int, key: str | None = None) -> Claim:
    """A claim whose digest and compressed size are true, whatever its bytes are."""
    digest = hashlib.sha256(compressed).hexdigest()
    key = claim_key(ID, digest, START_MS) if key is None else key
    store.put(key, compressed)
    return Claim(key=key, sha256=digest, compressed_bytes=len(compressed), bytes=size, files=1)


def fault_of(store: MemoryStore, claim: Claim, limits: ClaimLimits | None = None) -> ClaimFault:
    with pytest.raises(ClaimRefused) as caught:
        open_claim(store, claim, limits or ClaimLimits())
    return caught.value.fault


def test_what_is_opened_is_what_was_put(store: MemoryStore) -> None:
    assert open_claim(store, put(store)) == BODY


def test_an_empty_body_is_opened(store: MemoryStore) -> None:
    assert open_claim(store, put(store, b"")) == b""


def test_a_claim_says_what_lies_there(store: MemoryStore) -> None:
    claim = put(store)
    compressed = store.get(claim.key)
    assert (claim.sha256, claim.compressed_bytes) == (hashlib.sha256(compressed).hexdigest(), len(compressed))
    assert (claim.bytes, claim.files) == (len(BODY), 1_000)


def test_a_claim_is_smaller_than_its_body(store: MemoryStore) -> None:
    assert put(store).compressed_bytes < len(BODY) / 4


def test_putting_again_is_the_same_claim(store: MemoryStore) -> None:
    assert put(store) == put(store)


def test_a_claim_is_named_by_day_proposal_and_content(store: MemoryStore) -> None:
    claim = put(store)
    assert claim.key == f"_headgate/claims/20260528-{ID}-{claim.sha256[:12]}.json.zst"


@pytest.mark.parametrize("proposal_id", ["../../etc/passwd", "a/b", "x" * 200, "a.b", "a\\b", "a#b"])
def test_an_id_that_is_no_plain_name_makes_a_safe_key(store: MemoryStore, proposal_id: str) -> None:
    claim = put(store, proposal_id=proposal_id)
    assert claim.key.count("/") == 2
    assert ".." not in claim.key
    assert open_claim(store, claim) == BODY


def test_a_body_over_the_bound_is_not_put(store: MemoryStore) -> None:
    with pytest.raises(ClaimRefused, match="max_bytes = 99") as caught:
        put_claim(store, ID, bytes(100), files=1, now_ms=START_MS, limits=ClaimLimits(max_bytes=99))
    assert caught.value.fault is ClaimFault.OVER_BOUND
    assert list(store.list()) == []


def test_a_missing_claim_is_refused_as_missing(store: MemoryStore) -> None:
    claim = put(store)
    store.delete([claim.key])
    assert fault_of(store, claim) is ClaimFault.MISSING


def test_other_bytes_of_the_same_size_are_refused(store: MemoryStore) -> None:
    claim = put(store)
    store.put(claim.key, bytes(claim.compressed_bytes))
    assert fault_of(store, claim) is ClaimFault.DIFFERS


def test_bytes_of_another_size_are_refused_without_reading_them(store: MemoryStore) -> None:
    claim = put(store)
    store.put(claim.key, bytes(claim.compressed_bytes + 1))

    class Unread(MemoryStore):
        head = store.head

    assert fault_of(Unread(FakeAmbient()), claim) is ClaimFault.DIFFERS


@pytest.mark.parametrize(
    "name",
    [
        "20260528-x-%s.json.zst.exe",
        "2026052-x-%s.json.zst",
        "20260528-..-%s.json.zst",
        "%s.json.zst",
        "20260528-x-%s.json",
    ],
)
def test_a_key_that_is_not_named_as_claims_are_is_refused(store: MemoryStore, name: str) -> None:
    compressed = zstandard.compress(BODY)
    digest = hashlib.sha256(compressed).hexdigest()
    claim = laid(store, compressed, size=len(BODY), key=FOLDER + name % digest[:12])
    assert fault_of(store, claim) is ClaimFault.UNREADABLE


def test_a_key_that_names_another_digest_is_refused(store: MemoryStore) -> None:
    claim = laid(store, zstandard.compress(BODY), size=len(BODY), key=f"{FOLDER}20260528-x-{'0' * 12}.json.zst")
    assert fault_of(store, claim) is ClaimFault.UNREADABLE


def test_a_claim_that_is_too_large_as_it_lies_there_is_refused(store: MemoryStore) -> None:
    claim = put(store)
    assert fault_of(store, claim, ClaimLimits(max_compressed_bytes=claim.compressed_bytes - 1)) is ClaimFault.OVER_BOUND


def test_a_claim_that_says_it_is_too_large_is_refused(store: MemoryStore) -> None:
    assert fault_of(store, put(store), ClaimLimits(max_bytes=len(BODY) - 1)) is ClaimFault.OVER_BOUND


def test_a_claim_over_its_bound_is_refused_without_asking_the_store(store: MemoryStore) -> None:
    claim = put(store)
    assert fault_of(Down(), claim, ClaimLimits(max_bytes=1)) is ClaimFault.OVER_BOUND


def test_what_is_no_zstd_is_refused_as_unreadable(store: MemoryStore) -> None:
    assert fault_of(store, laid(store, b"no zstd at all", size=100)) is ClaimFault.UNREADABLE


def test_a_frame_that_ends_early_is_refused(store: MemoryStore) -> None:
    whole = zstandard.ZstdCompressor(write_content_size=False).compress(BODY)
    assert fault_of(store, laid(store, whole[: len(whole) // 2], size=len(BODY))) is ClaimFault.DIFFERS


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("size", [len(BODY) - 1, len(BODY) + 1])
def test_a_body_of_another_size_than_claimed_is_refused(store: MemoryStore, told: bool, size: int) -> None:
    compressed = zstandard.ZstdCompressor(write_content_size=told).compress(BODY)
    assert fault_of(store, laid(store, compressed, size=size)) is ClaimFault.DIFFERS


def bomb(mebibytes: int) -> bytes:
    """A frame that doesn't tell how much comes out of it."""
    compressor = zstandard.ZstdCompressor(level=1, write_content_size=False).compressobj()
    block = bytes(1 << 20)
    return b"".join([*(compressor.compress(block) for _ in range(mebibytes)), compressor.flush()])


def test_a_bomb_is_refused_before_its_bytes_are_held(store: MemoryStore) -> None:
    claim = laid(store, bomb(1_000), size=4 << 20)
    tracemalloc.start()
    assert fault_of(store, claim) is ClaimFault.DIFFERS
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20


def test_a_frame_that_wants_a_huge_window_is_refused(store: MemoryStore) -> None:
    wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, write_content_size=False)
    compressor = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    compressed = compressor.compress(BODY) + compressor.flush()
    assert zstandard.get_frame_parameters(compressed).window_size > MAX_WINDOW_BYTES
    assert fault_of(store, laid(store, compressed, size=len(BODY))) is ClaimFault.UNREADABLE


class Down(MemoryStore):
    def __init__(self) -> None:
        super().__init__(FakeAmbient())

    def head(self, key: str) -> ObjectInfo | None:
        raise StoreError("the store doesn't answer")

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        raise StoreError("the store doesn't answer")


class Half(MemoryStore):
    """Lists and looks, and fails when something is read."""

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        raise StoreError("the store doesn't answer")


@pytest.mark.parametrize("kind", [Down, Half])
def test_a_store_that_does_not_answer_is_no_refusal(clock: FakeAmbient, kind: type[MemoryStore]) -> None:
    down = Down() if kind is Down else Half(clock)
    claim = put(down)
    with pytest.raises(StoreError, match="doesn't answer"):
        open_claim(down, claim)


# Sweeping


def old(key: str, age_ms: int = KEEP_MS + 1) -> ObjectInfo:
    return ObjectInfo(key, 10, START_MS - age_ms, "")


KEYS = [claim_key(f"p{number}", "a" * 64, START_MS) for number in range(5)]


def test_old_claims_are_swept() -> None:
    gone = plan_sweep(map(old, KEYS), now_ms=START_MS, keep_ms=KEEP_MS, still_needed=lambda key: False)
    assert gone == KEYS


def test_claims_of_the_dedupe_window_are_kept() -> None:
    listed = [old(KEYS[0], KEEP_MS), old(KEYS[1], KEEP_MS + 1)]
    gone = plan_sweep(listed, now_ms=START_MS, keep_ms=KEEP_MS, still_needed=lambda key: False)
    assert gone == [KEYS[1]]


def test_claims_that_are_still_needed_are_kept_however_old() -> None:
    gone = plan_sweep(map(old, KEYS), now_ms=START_MS, keep_ms=KEEP_MS, still_needed=lambda key: key == KEYS[2])
    assert gone == [key for key in KEYS if key != KEYS[2]]


def test_what_is_no_claim_is_left_alone() -> None:
    strange = [old(f"{FOLDER}README"), old(f"{FOLDER}deeper/{KEYS[0].rpartition('/')[2]}")]
    assert plan_sweep(strange, now_ms=START_MS, keep_ms=KEEP_MS, still_needed=lambda key: False) == []


def test_one_sweep_plans_a_bounded_number() -> None:
    gone = plan_sweep(map(old, KEYS), now_ms=START_MS, keep_ms=KEEP_MS, still_needed=lambda key: False, max_deletes=2)
    assert gone == KEYS[:2]


def test_a_sweep_that_is_full_asks_for_no_more_of_the_listing() -> None:
    def listing() -> Iterator[ObjectInfo]:
        yield from map(old, KEYS[:2])
        raise AssertionError("the listing was read on")

    found: Iterable[ObjectInfo] = listing()
    assert (
        plan_sweep(found, now_ms=START_MS, keep_ms=KEEP_MS, still_needed=lambda key: False, max_deletes=2) == KEYS[:2]
    )


def test_a_sweep_deletes_what_it_planned_and_nothing_else(store: MemoryStore, clock: FakeAmbient) -> None:
    first = put(store, proposal_id="first")
    second = put(store, proposal_id="second")
    store.put("data/part-0.parquet", b"x")
    clock.advance(hours=24 * 8)
    recent = put(store, proposal_id="recent")
    assert sorted(sweep_claims(store, now_ms=clock.time_ms)) == sorted([first.key, second.key])
    assert {info.key for info in store.list()} == {recent.key, "data/part-0.parquet"}
