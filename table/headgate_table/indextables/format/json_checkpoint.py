"""JSON checkpoints, single and in parts (docs/format.md, section 1.4)."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate_schemas.actions.actions import Action, CommitInfo, Metadata, UnknownAction
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import (
    LOG,
    checkpoint_key,
    checkpoint_part_key,
    parse_checkpoint_name,
    parse_checkpoint_part_name,
)
from headgate_table.indextables.format.version_file import decode_actions, encode_actions, unpack

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
    """All actions of the checkpoint, by the key of their object: the checkpoint itself, or each of its parts."""
    key = checkpoint_key(version)
    data = get(key)
    parts = _part_names(data, key)
    if parts is None:
        actions = decode_actions(data, key)
        _check_metadata(actions, key)
        return [(key, actions)]
    found: list[tuple[str, list[Action]]] = []
    left = MAX_ACTIONS
    for name in parts:
        part_key = f"{LOG}/{name}"
        actions = decode_actions(get(part_key), part_key)
        if all(isinstance(action, UnknownAction | CommitInfo) for action in actions):
            raise CorruptTable(
                f"{part_key} holds nothing of a table: another file was put in its place. Restore it; `headgate table verify` shows "
                f"what is affected"
            )
        left -= len(actions)
        if left < 0:
            raise CorruptTable(f"{key}: its parts hold more than {MAX_ACTIONS} actions; refused as damaged or hostile")
        found.append((part_key, actions))
    _check_metadata([action for _, actions in found for action in actions], key)
    return found


def _check_metadata(actions: Sequence[Action], key: str) -> None:
    """Every checkpoint begins with the table's metadata; one without was cut off, or isn't a checkpoint."""
    if not any(isinstance(action, Metadata) for action in actions):
        raise CorruptTable(
            f"{key} holds no metadata, so it is damaged. Restore it; or delete it, if version files from 0 on are left. "
            f"`headgate table verify` shows what is affected"
        )


def write_checkpoint(
    version: int,
    actions: Sequence[Action],
    *,
    checkpoint_id: str,
    created_time: int,
    actions_per_part: int = ACTIONS_PER_PART,
) -> tuple[list[CheckpointFile], int | None]:
    """The files to write, the one that makes the checkpoint valid last, and the number of parts (None for a single
    file).

    They are compressed whatever the settings say: gzip has a checksum and holds the file's name, and known readers
    accept no other place for either.
    """
    if len(actions) <= actions_per_part:
        return [_actions_file(checkpoint_key(version), actions)], None
    files: list[CheckpointFile] = []
    for start in range(0, len(actions), actions_per_part):
        key = checkpoint_part_key(version, checkpoint_id, len(files) + 1)
        files.append(_actions_file(key, actions[start : start + actions_per_part]))
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


def _actions_file(key: str, actions: Sequence[Action]) -> CheckpointFile:
    return CheckpointFile(key, encode_actions(actions, name=key.rpartition("/")[2]))


def checkpoint_id_of(part_key: str) -> str | None:
    """The id in the name of a part; None for a checkpoint that is a single file."""
    if parse_checkpoint_part_name(part_key.rpartition("/")[2]) is None:
        return None
    return part_key.rpartition("/")[2].split(".")[2]


def _part_names(data: bytes, key: str) -> list[str] | None:
    """The parts that a multi-part checkpoint lists; None if the file holds actions itself."""
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
    _check_list(body, parts, key)
    return parts


def _check_list(body: Mapping[str, Any], parts: Sequence[str], key: str) -> None:
    """Check the names of the parts: they contain the checkpoint's id and the index of each part."""
    version = parse_checkpoint_name(key.rpartition("/")[2])
    if body.get("version", version) != version:
        raise CorruptTable(f"{key}: it says that it is the checkpoint of version {str(body['version'])[:40]}")
    ids = {name.split(".")[2] for name in parts}
    if isinstance(body.get("checkpointId"), str):
        ids.add(body["checkpointId"])
    if len(ids) > 1:
        raise CorruptTable(f"{key}: its list of parts names several checkpoints: {', '.join(sorted(ids)[:3])}")
    numbers = [(parse_checkpoint_part_name(name), int(name.split(".")[3])) for name in parts]
    if numbers != [(version, number) for number in range(1, len(parts) + 1)]:
        raise CorruptTable(f"{key}: its list of parts lacks one, or names one of another checkpoint")


def _is_part_name(name: object) -> bool:
    return isinstance(name, str) and parse_checkpoint_part_name(name) is not None
