"""`_last_checkpoint`: the pointer to the newest state, as a value and as JSON (docs/format.md, section 1.3)."""

import json
from dataclasses import dataclass

from headgate_table.indextables.format.names import MAX_VERSION, state_folder

MAX_POINTER_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Pointer:
    version: int
    size: int
    size_in_bytes: int
    num_files: int
    created_time: int | None
    format: str | None
    state_dir: str | None
    parts: int | None = None
    checkpoint_id: str | None = None

    @property
    def is_avro(self) -> bool:
        return self.format == "avro-state"

    def is_as_new_as(self, other: "Pointer") -> bool:
        """Whether `other` adds nothing. For the same version, a checkpoint may replace a state and the reverse."""
        return self.version > other.version or (self.version == other.version and self.is_avro == other.is_avro)


@dataclass(frozen=True, slots=True)
class BrokenPointer:
    """The object exists but is unusable; readers list the log instead."""

    reason: str


def parse_pointer(data: bytes) -> Pointer | BrokenPointer:
    if not data.strip():
        return BrokenPointer("it is empty")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        return BrokenPointer(f"it is not JSON: {error}")
    if not isinstance(body, dict):
        return BrokenPointer("it is not a JSON object")
    version = _integer(body, "version")
    if version is None or not 0 <= version <= MAX_VERSION:
        return BrokenPointer(f"its version is {body.get('version')!r}")
    if isinstance(body.get("parts"), list):
        return BrokenPointer("it lists the parts of a JSON checkpoint")
    return Pointer(
        version=version,
        size=_integer(body, "size") or 0,
        size_in_bytes=_integer(body, "sizeInBytes") or 0,
        num_files=_integer(body, "numFiles") or 0,
        created_time=_integer(body, "createdTime"),
        format=_text(body, "format"),
        state_dir=_text(body, "stateDir"),
        parts=_integer(body, "parts"),
        checkpoint_id=_text(body, "checkpointId"),
    )


def format_pointer(pointer: Pointer) -> bytes:
    """The nine keys in the order of known writers, nulls included, and no others: an extra key breaks old readers."""
    body = {
        "version": pointer.version,
        "size": pointer.size,
        "sizeInBytes": pointer.size_in_bytes,
        "numFiles": pointer.num_files,
        "createdTime": pointer.created_time,
        "parts": pointer.parts,
        "checkpointId": pointer.checkpoint_id,
        "format": pointer.format,
        "stateDir": pointer.state_dir,
    }
    return json.dumps(body, separators=(",", ":")).encode("utf-8")


def state_pointer(version: int, num_files: int, total_bytes: int, created_time: int) -> Pointer:
    return Pointer(
        version=version,
        size=num_files,
        size_in_bytes=total_bytes,
        num_files=num_files,
        created_time=created_time,
        format="avro-state",
        state_dir=state_folder(version),
    )


def checkpoint_pointer(
    version: int,
    *,
    num_actions: int,
    num_files: int,
    total_bytes: int,
    created_time: int,
    checkpoint_id: str | None,
    parts: int | None,
) -> Pointer:
    """The pointer to a JSON checkpoint, whose size is the number of its actions (docs/format.md, section 1.4)."""
    return Pointer(
        version=version,
        size=num_actions,
        size_in_bytes=total_bytes,
        num_files=num_files,
        created_time=created_time,
        format="json" if checkpoint_id is None else "json-multipart",
        state_dir=None,
        parts=parts,
        checkpoint_id=checkpoint_id,
    )


def _integer(body: dict[str, object], key: str) -> int | None:
    value = body.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(body: dict[str, object], key: str) -> str | None:
    value = body.get(key)
    return value if isinstance(value, str) else None
