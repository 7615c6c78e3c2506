"""The committer's record of a version of a Milvus table, as a value and as JSON. It lies beside the manifest.

A record belongs to one manifest, by its number and the digest of its bytes. One without a commit is a seal: it states
that the manifest is another program's, for good (docs/milvus-protocol.md). Pure.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate_schemas.version import __version__
from headgate_table.coordination.commit_info import CommitRecord, Decision, Settled, Term, record_of
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.milvus.rules.file_changes import FileCounts

RECORDS = "_headgate/commits/"
FORMAT = 1
MAX_RECORD_BYTES = 128 << 20
"""A group of 2,000 proposals takes 1 MB, a memory of 200,000 ids 4 MB."""

_NAME = re.compile(r"([0-9]{20})-([0-9a-f]{64})\.json")


@dataclass(frozen=True, slots=True, order=True)
class ManifestId:
    """The identity of a manifest: other bytes may have had the same number, and equal bytes other numbers."""

    version: int
    digest: str

    @property
    def key(self) -> str:
        """The key of its record."""
        return f"{first_key(self.version)}{self.digest}.json"


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """The record of one version. `parent` links it to all earlier records."""

    id: ManifestId
    parent: ManifestId | None
    """The record before: that of the version before, except for seals. None where there was none."""
    commit: CommitRecord | None
    """None for a seal."""
    body: Mapping[str, Any] | None = None
    """The commit as it is stored."""
    is_changed: bool = True
    """Whether anything was accepted. If not, the manifest is the same as in the version before."""
    counts: FileCounts = field(default_factory=FileCounts)
    since_memory: int = 0
    """How many records lie between this one and the newest before it that carries the memory."""
    memory: str | None = None
    """What the table remembers as of the parent."""


def first_key(version: int) -> str:
    """Records of this version, and of later ones, have keys after it."""
    return f"{RECORDS}{version:020d}-"


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def parse_key(key: str) -> ManifestId | None:
    """The parts of a record's key; None for other keys."""
    found = _NAME.fullmatch(key.removeprefix(RECORDS))
    return None if found is None else ManifestId(int(found[1]), found[2])


def commit_body(
    *,
    nonce: str,
    time_ms: int,
    operation: str,
    counts: FileCounts,
    decisions: Sequence[Decision],
    term: Term,
    settled: Settled,
    rebound: bool = False,
) -> dict[str, Any]:
    """The commit, in the form of a version file's `commitInfo`."""
    body: dict[str, Any] = {
        "timestamp": time_ms,
        "operation": operation,
        "engine": f"headgate/{__version__}",
        "nonce": nonce,
        "summary": {
            "added": counts.added,
            "removed": counts.removed,
            "addedBytes": counts.added_bytes,
            "removedBytes": counts.removed_bytes,
        },
        "decisions": [decision.to_json() for decision in decisions],
        "committer": {"id": term.committer, "epoch": term.epoch},
        "source": settled.to_json(),
    }
    if rebound:
        body["rebound"] = True
    return body


def encode_record(record: VersionRecord) -> bytes:
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": record.id.version,
        "manifest": record.id.digest,
        "parent": None if record.parent is None else [record.parent.version, record.parent.digest],
        "commitInfo": record.body,
        "changed": record.is_changed,
        "sinceMemory": record.since_memory,
    }
    if record.memory is not None:
        body["memory"] = record.memory
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def decode_record(data: bytes, expected: ManifestId, name: str) -> VersionRecord:
    """Raises `CorruptTable`; and `UnsupportedTable` for a newer release's record, which must not be ignored."""
    try:
        body = json.loads(data)
        if type(body["format"]) is not int or body["format"] > FORMAT:
            raise UnsupportedTable(
                f"{name} has the format {body['format']!r}, this Headgate knows {FORMAT}: update this committer or reader"
            )
        return _record(body, expected)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CorruptTable(
            f"{name} is no commit record: {type(error).__name__} {error}. What was committed with manifest "
            f"{expected.version} can't be told without it; bring it back from a copy of the table"
        ) from None


def _record(body: Mapping[str, Any], expected: ManifestId) -> VersionRecord:
    if ManifestId(body["version"], body["manifest"]) != expected:
        raise ValueError(f"it belongs to version {body['version']!r} with the digest {body['manifest']!r:.80}")
    parent = None if body["parent"] is None else ManifestId(_whole(body["parent"][0]), _text(body["parent"][1]))
    if parent is not None and not 0 < parent.version < expected.version:
        raise ValueError(f"its parent is version {parent.version}")
    info = body["commitInfo"]
    if info is not None and not isinstance(info, Mapping):
        raise TypeError("commitInfo is no object")
    memory = body.get("memory")
    return VersionRecord(
        expected,
        parent,
        None if info is None else record_of(info),
        info,
        body["changed"] is not False,
        FileCounts() if info is None else _counts(info.get("summary")),
        _whole(body["sinceMemory"]),
        None if memory is None else _text(memory),
    )


def _counts(summary: Any) -> FileCounts:
    """For people and events only: a missing count is 0."""
    told = summary if isinstance(summary, Mapping) else {}
    numbers = (told.get(name) for name in ("added", "removed", "addedBytes", "removedBytes"))
    return FileCounts(*(number if type(number) is int and 0 <= number < 2**63 else 0 for number in numbers))


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise TypeError(f"{value!r:.40} is no whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value
