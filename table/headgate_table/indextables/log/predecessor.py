"""Which version a new one is put upon: the very file that was read or written, told from any other of the same number.

A number that was cleaned can be filled once more by a writer that comes late (docs/format.md, section 6.6). So the file before
a new version is compared with the one that was known, and versions name their predecessors by its nonce.
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
        """What the next version says of it; "" of a foreign version, or one that was not read."""
        return "" if self.mark.startswith(_CONTENT) else self.mark


_CONTENT = "content:"


def mark_of(actions: Iterable[Action]) -> str:
    """What tells one version from all others: its nonce, or, of a foreign version, its content."""
    actions = list(actions)
    record = commit_record(actions)
    if record is not None and record.nonce:
        return record.nonce
    digest = hashlib.blake2b(digest_size=16)
    for action in actions:
        digest.update(repr(action).encode("utf-8", "surrogatepass") + b"\n")  # strangers write what we could not
    return _CONTENT + digest.hexdigest()


def looks_like(known: Predecessor, seen: ObjectInfo) -> bool:
    """Whether it is plainly the same file, by its look alone."""
    return bool(known.info.etag) and known.info.etag == seen.etag and known.info.size == seen.size
