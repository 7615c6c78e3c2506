"""Claim checks: a large operation lies on the table's store, and its proposal names the object, its size and digest.

Opening a claim checks the key, the sizes and the bytes. This module doesn't know which claims are still needed; callers
do.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import zstandard

from headgate_bus.errors import ClaimFault, ClaimRefused
from headgate_schemas.messages.proposals import Claim

FOLDER = "_headgate/claims/"
CLOCK_KEY = f"{FOLDER}clock"
"""No claim: see `store_now_ms`."""
MAX_COMPRESSED_BYTES = 64 << 20
"""Some two million files; whatever a claim says, no more than this is read."""
MAX_BYTES = 256 << 20
"""Of JSON: some 800,000 files. The committer holds it in memory, several times over while it is read."""
MAX_WINDOW_BYTES = 8 << 20
"""What a decompressor may need to look back. Ours need 2 MiB; a hostile frame may ask for gigabytes."""
KEEP_MS = 7 * 24 * 3_600_000
"""The dedupe window: as long as a repeated proposal may have to be recognised."""
MAX_DELETES = 1_000
"""In one sweep; the rest goes with the next."""

_LEVEL = 3
_CHUNK_BYTES = 1 << 20
_KEY = re.compile(r"_headgate/claims/(\d{8})-([A-Za-z0-9_-]{1,64})-([0-9a-f]{12})\.json\.zst")
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ClaimInfo(Protocol):
    """One stored object, as a listing shows it."""

    @property
    def key(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def modified_ms(self) -> int: ...


class ClaimStore(Protocol):
    """The part of a table's store that claims need. The store's own errors pass through unchanged: they mean "unknown"."""

    def head(self, key: str) -> ClaimInfo | None: ...
    def get(self, key: str, *, max_bytes: int | None = None) -> bytes: ...
    def put(self, key: str, data: bytes) -> None: ...
    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ClaimInfo]: ...
    def delete(self, keys: Iterable[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class ClaimLimits:
    """The bounds on a claim's size, stored and decompressed."""

    max_compressed_bytes: int = MAX_COMPRESSED_BYTES
    max_bytes: int = MAX_BYTES


DEFAULT_LIMITS = ClaimLimits()


def put_claim(
    store: ClaimStore, proposal_id: str, body: bytes, *, files: int, now_ms: int, limits: ClaimLimits = DEFAULT_LIMITS
) -> Claim:
    """Write the operation's JSON to the store and return the claim. Repeating it is safe. Raises `ClaimRefused` when
    too large.
    """
    _check_bound(proposal_id, len(body), limits.max_bytes, "max_bytes")
    compressed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(body)
    _check_bound(proposal_id, len(compressed), limits.max_compressed_bytes, "max_compressed_bytes")
    digest = hashlib.sha256(compressed).hexdigest()
    key = claim_key(proposal_id, digest, now_ms)
    store.put(key, compressed)
    return Claim(key=key, sha256=digest, compressed_bytes=len(compressed), bytes=len(body), files=files)


def claim_key(proposal_id: str, sha256: str, now_ms: int) -> str:
    """Keys sort by day and differ by proposal and content. An id with special characters appears as its digest."""
    day = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%d")
    shown = proposal_id
    if not _PLAIN_ID.fullmatch(proposal_id):
        shown = hashlib.sha256(proposal_id.encode()).hexdigest()[:32]
    return f"{FOLDER}{day}-{shown}-{sha256[:12]}.json.zst"


def bytes_to_open(claim: Claim, limits: ClaimLimits = DEFAULT_LIMITS) -> int:
    """The most bytes that opening the claim takes. 0 if its stated size exceeds a bound, because it is then never
    opened.
    """
    is_over = claim.bytes > limits.max_bytes or claim.compressed_bytes > limits.max_compressed_bytes
    return 0 if is_over else claim.bytes


def open_claim(store: ClaimStore, claim: Claim, limits: ClaimLimits = DEFAULT_LIMITS) -> bytes:
    """The operation's JSON, exactly as it was claimed.

    Raises `ClaimRefused` when the claim can't be opened, now or later. A store that fails raises its own error.
    """
    key = _KEY.fullmatch(claim.key)
    if key is None or key[3] != claim.sha256[:12]:
        raise ClaimRefused(
            f"claim {claim.key!r} is not named as claims are: {FOLDER}DAY-PROPOSAL-DIGEST.json.zst",
            ClaimFault.UNREADABLE,
        )
    _check_bound(claim.key, claim.compressed_bytes, limits.max_compressed_bytes, "max_compressed_bytes")
    _check_bound(claim.key, claim.bytes, limits.max_bytes, "max_bytes")
    # A separate lookup: only this tells a missing object from a failing store.
    info = store.head(claim.key)
    if info is None:
        raise ClaimRefused(
            f"claim {claim.key} is not on the table's store; send the proposal again under a new id", ClaimFault.MISSING
        )
    if info.size != claim.compressed_bytes:
        raise _differs(claim, f"it has {info.size} bytes and not {claim.compressed_bytes}")
    compressed = store.get(claim.key, max_bytes=limits.max_compressed_bytes)
    found = hashlib.sha256(compressed).hexdigest()
    if found != claim.sha256:
        raise _differs(claim, f"its SHA-256 is {found}")
    return _decompressed(claim, compressed)


def _decompressed(claim: Claim, compressed: bytes) -> bytes:
    """Never holds more than the claimed size, whatever the frame contains."""
    body = bytearray()
    try:
        told = zstandard.frame_content_size(compressed)
        if told not in (-1, claim.bytes):
            raise _differs(claim, f"it decompresses to {told} bytes and not {claim.bytes}")
        decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        with decompressor.stream_reader(compressed) as reader:
            while chunk := reader.read(min(_CHUNK_BYTES, claim.bytes + 1 - len(body))):
                body += chunk
                if len(body) > claim.bytes:
                    raise _differs(claim, f"it decompresses to more than {claim.bytes} bytes")
    except zstandard.ZstdError as error:
        raise ClaimRefused(f"claim {claim.key} can't be decompressed: {error}", ClaimFault.UNREADABLE) from error
    if len(body) != claim.bytes:
        raise _differs(claim, f"it decompresses to {len(body)} bytes and not {claim.bytes}")
    return bytes(body)


def _check_bound(name: str, size: int, bound: int, setting: str) -> None:
    if size > bound:
        raise ClaimRefused(
            f"claim {name} has {size} bytes, more than {setting} = {bound}; split the proposal into smaller ones",
            ClaimFault.OVER_BOUND,
        )


def _differs(claim: Claim, how: str) -> ClaimRefused:
    return ClaimRefused(
        f"claim {claim.key} is not what the proposal says: {how}. Send the proposal again under a new id",
        ClaimFault.DIFFERS,
    )


def plan_sweep(
    claims: Iterable[ClaimInfo],
    *,
    now_ms: int,
    keep_ms: int,
    still_needed: Callable[[str], bool],
    max_deletes: int = MAX_DELETES,
) -> list[str]:
    """The keys of claims that no proposal can need any more, oldest first. Ignores objects that aren't named like
    claims.
    """
    old = (info for info in claims if _KEY.fullmatch(info.key) and info.modified_ms < now_ms - keep_ms)
    gone = []
    for info in old:
        if not still_needed(info.key):
            gone.append(info.key)
        if len(gone) == max_deletes:
            break
    return gone


def sweep_claims(
    store: ClaimStore,
    *,
    now_ms: int,
    keep_ms: int = KEEP_MS,
    still_needed: Callable[[], Collection[str]] = tuple,
    max_deletes: int = MAX_DELETES,
) -> list[str]:
    """Delete unneeded claims that are older than `keep_ms`, and return their keys.

    Call it after everything that the bus received up to `now_ms` is decided. `now_ms` may come from a wrong clock, so
    it is capped at the time of the store, which dates the claims. `still_needed` returns the claims of waiting
    proposals; it is called only if there is something to delete. A proposal that is sent only now for a claim of this
    age has expired.
    """

    def planned(now_ms: int, needed: Collection[str]) -> list[str]:
        return plan_sweep(
            store.list(FOLDER),
            now_ms=now_ms,
            keep_ms=keep_ms,
            still_needed=lambda key: key in needed,
            max_deletes=max_deletes,
        )

    if not planned(now_ms, ()):
        return []
    gone = planned(min(now_ms, store_now_ms(store)), still_needed())
    if gone:
        store.delete(gone)
    return gone


def store_now_ms(store: ClaimStore) -> int:
    """The time by the clock that dates the store's objects. Writes a small object and deletes it."""
    store.put(CLOCK_KEY, b"written to learn the time of this store\n")
    info = store.head(CLOCK_KEY)
    store.delete([CLOCK_KEY])
    return 0 if info is None else info.modified_ms
