"""JSON checkpoints, single and in parts (docs/format.md, section 1.4)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headgate_schemas.actions import Action
from headgate_table.errors import CorruptTable
from headgate_table.indextables.names import LOG, checkpoint_key, checkpoint_part_key, parse_checkpoint_part_name
from headgate_table.indextables.version_file import decode_actions, encode_actions, unpack

ACTIONS_PER_PART = 100_000
MAX_PARTS = 10_000
MAX_LIST_BYTES = 4 << 20
"""Of the file that lists the parts; a name takes less than a hundred."""
MAX_ACTIONS = 16 << 20
"""Of all parts together: they are in memory at once, a thousand bytes each."""


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    key: str
    data: bytes


def read_checkpoint(version: int, get: Callable[[str], bytes]) -> list[Action]:
    """All actions of the checkpoint at `version`, its parts in order."""
    return [action for _, actions in read_checkpoint_files(version, get) for action in actions]


def read_checkpoint_files(version: int, get: Callable[[str], bytes]) -> list[tuple[str, list[Action]]]:
    """The same, by the key of the object that holds them: the checkpoint itself, or each of its parts."""
    key = checkpoint_key(version)
    data = get(key)
    parts = _part_names(data, key)
    if parts is None:
        return [(key, decode_actions(data, key))]
    found: list[tuple[str, list[Action]]] = []
    left = MAX_ACTIONS
    for name in parts:
        part_key = f"{LOG}/{name}"
        actions = decode_actions(get(part_key), part_key)
        left -= len(actions)
        if left < 0:
            raise CorruptTable(f"{key}: its parts hold more than {MAX_ACTIONS} actions; refused as damaged or hostile")
        found.append((part_key, actions))
    return found


def write_checkpoint(
    version: int,
    actions: Sequence[Action],
    *,
    checkpoint_id: str,
    created_time: int,
    compressed: bool = True,
    actions_per_part: int = ACTIONS_PER_PART,
) -> tuple[list[CheckpointFile], int | None]:
    """The files to write, the one that makes the checkpoint valid last, and the number of parts (None for a single file)."""
    if len(actions) <= actions_per_part:
        return [CheckpointFile(checkpoint_key(version), encode_actions(actions, compressed=compressed))], None
    files: list[CheckpointFile] = []
    for start in range(0, len(actions), actions_per_part):
        key = checkpoint_part_key(version, checkpoint_id, len(files) + 1)
        files.append(
            CheckpointFile(key, encode_actions(actions[start : start + actions_per_part], compressed=compressed))
        )
    body = {
        "version": version,
        "checkpointId": checkpoint_id,
        "parts": [file.key.removeprefix(f"{LOG}/") for file in files],
        "createdTime": created_time,
        "format": "json",
    }
    count = len(files)
    files.append(CheckpointFile(checkpoint_key(version), json.dumps(body, separators=(",", ":")).encode("utf-8")))
    return files, count


def checkpoint_id_of(part_key: str) -> str | None:
    """The id in the name of a part; None for a checkpoint that is a single file."""
    if parse_checkpoint_part_name(part_key.rpartition("/")[2]) is None:
        return None
    return part_key.rpartition("/")[2].split(".")[2]


def _part_names(data: bytes, key: str) -> list[str] | None:
    """The parts that a multi-part checkpoint lists; None when the file holds actions itself."""
    text = unpack(data, key).strip()
    if b"\n" in text or b'"parts"' not in text:
        return None
    if len(text) > MAX_LIST_BYTES:
        raise CorruptTable(
            f"{key}: its list of parts takes more than {MAX_LIST_BYTES} bytes; refused as damaged or hostile"
        )
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or "parts" not in body:
        return None
    parts = body["parts"]
    if not isinstance(parts, list) or len(parts) > MAX_PARTS or not all(map(_is_part_name, parts)):
        raise CorruptTable(f"{key}: its list of parts is damaged")
    if len(set(parts)) < len(parts):
        raise CorruptTable(f"{key}: it lists a part twice")
    return parts


def _is_part_name(name: object) -> bool:
    return isinstance(name, str) and parse_checkpoint_part_name(name) is not None
