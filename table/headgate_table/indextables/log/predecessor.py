"""Identifies the predecessor of a new version: the very file that was read or written, not another one with the same
number.

A late writer can fill a cleaned number again (docs/format.md, section 6.6). So a writer compares the file before a new
version with the one that it knows, and a version names its predecessor by the predecessor's nonce.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from headgate_schemas.actions.actions import Action
from headgate_table.coordination.commit_info import commit_record
from headgate_table.store.interface import ObjectInfo


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


def looks_like(known: Predecessor, seen: ObjectInfo) -> bool:
    """Whether it is certainly the same file, by its size and time alone."""
    return bool(known.info.etag) and known.info.etag == seen.etag and known.info.size == seen.size
