"""Identifies the predecessor of a new version: the very file that was read or written, not another one with the same
number.

A late writer can fill a cleaned number again (docs/format.md, section 6.6). So a writer compares the file before a new
version with the one that it knows, and a version names its predecessor by the predecessor's nonce.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headgate_schemas.actions.actions import Action
from headgate_table.coordination.commit_info import commit_record, nonce_and_previous
from headgate_table.errors import CorruptTable, ObjectMissing
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.format.version_file import MAX_VERSION_FILE_BYTES, decode_actions
from headgate_table.store.interface import ObjectInfo, Store


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The version file before a new version, as this process knows it."""

    info: ObjectInfo
    """How it looked; without an etag, where its writing was not plainly answered."""
    mark: str = ""
    """The mark of what it says; "" where it was not read."""

    @property
    def nonce(self) -> str:
        """The value of `previous` in the next version; "" for a foreign version, or one that was not read."""
        return "" if self.mark.startswith(_CONTENT) else self.mark


_CONTENT = "content:"


def mark_of(actions: Iterable[Action]) -> str:
    """The identity of a version: its nonce, or for a foreign version its content."""
    actions = list(actions)
    record = commit_record(actions)
    if record is not None and record.nonce:
        return record.nonce
    digest = hashlib.blake2b(digest_size=16)
    for action in actions:
        # foreign writers may write values that Headgate can't
        digest.update(repr(action).encode("utf-8", "surrogatepass") + b"\n")
    return _CONTENT + digest.hexdigest()


def is_known(store: Store, known: Predecessor, seen: ObjectInfo) -> bool:
    """Whether the file that is there is the known one. It is read if its metadata alone doesn't tell."""
    if looks_like(known, seen):
        return True
    key = known.info.key
    try:
        found = mark_of(decode_actions(store.get(key, max_bytes=MAX_VERSION_FILE_BYTES), key))
    except (ObjectMissing, CorruptTable):
        return False
    return bool(known.mark) and found == known.mark


def looks_like(known: Predecessor, seen: ObjectInfo) -> bool:
    """Whether it is certainly the same file, by its size and time alone."""
    return bool(known.info.etag) and known.info.etag == seen.etag and known.info.size == seen.size


def is_named(own: Sequence[Action], following: Sequence[Action]) -> bool | None:
    """Whether the next version was put upon this one. None where the next doesn't tell. If not, this file came late, and so did
    all below it; or it was replaced."""
    previous = nonce_and_previous(following)[1]
    return previous == nonce_and_previous(own)[0] if previous else None


def check_run(versions: Sequence[int], actions: Sequence[Sequence[Action]]) -> None:
    """Raise `CorruptTable` where one of these versions, which are all in a row, was replaced. The last one is not judged."""
    for place in range(1, len(versions)):
        if is_named(actions[place - 1], actions[place]) is False:
            raise CorruptTable(replaced_text(versions[place - 1]))


def replaced_text(version: int) -> str:
    """What is wrong with a version that was replaced, and what to do."""
    return (
        f"{version_key(version)} is not the file after which version {version + 1} was written: another one was put in its place. "
        f"Restore it from a copy of the table; `headgate table verify` shows what is affected. If an older copy of the table was put "
        f"back while somebody wrote to it, version {version + 1} was never part of it: then move it and later ones away"
    )
