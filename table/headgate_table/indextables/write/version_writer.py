"""Creates one version file if absent, and finds out the outcome: the only commit point.

The content that is read back counts, not the intention (docs/format.md, section 6).
"""

from headgate_schemas.actions.actions import CommitInfo, Metadata
from headgate_table.coordination.refusals import NumberTaken, PredecessorGone
from headgate_table.errors import ObjectMissing, OutcomeUnknown, StoreError
from headgate_table.indextables.format.names import LEGACY_STATE_MANIFEST, checkpoint_key, state_key, version_key
from headgate_table.indextables.format.version_file import MAX_VERSION_FILE_BYTES, decode_actions
from headgate_table.indextables.log.predecessor import Predecessor, is_known
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.version_body import VersionBody
from headgate_table.store.conditions import require_conditions
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown

_ATTEMPTS = 5
"""How often one body is written when the store doesn't say what became of it."""


def write_version(
    reader: LogReader, body: VersionBody, data: bytes, *, after_file: bool, before: Predecessor | None = None
) -> str:
    """Create the version with these bytes. Raises `NumberTaken`, or `OutcomeUnknown` if nobody knows the outcome.

    Returns the etag of the file; "" if the create had no plain answer.

    `after_file`: the version before it certainly had a file, which looked like `before`. After a `StoreError`, nothing
    was written.
    """
    store, key = reader.store, version_key(body.version)
    require_conditions(store, lambda: body.nonce)
    may_be_there = False
    reason = seen_etag = ""
    try:
        for _ in range(_ATTEMPTS):
            match store.create(key, data):
                case Created(seen_etag=seen_etag):
                    break
                case AlreadyExists():
                    if _nonce_at(store, key) == body.nonce:
                        break  # ours after all: the answer had been lost
                    raise NumberTaken(f"version {body.version}")
                case Unknown(reason):
                    may_be_there = True
                    found = _nonce_at(store, key)
                    if found == body.nonce:
                        break
                    if found is not None:
                        raise NumberTaken(f"version {body.version}")
        else:
            raise _unknown(store, body, reason)
        may_be_there = True
        _check_predecessor(reader, body, before, after_file=after_file)
    except StoreError as error:
        if may_be_there:
            raise _unknown(store, body, str(error)) from error
        raise
    return seen_etag


def _check_predecessor(reader: LogReader, body: VersionBody, known: Predecessor | None, *, after_file: bool) -> None:
    """Check that the predecessor still stands; otherwise the version doesn't count, because a late writer must not fill
    a cleaned number.

    The newest version file is never cleaned. So a missing one was followed by others, even if its state is kept for
    long; a state stands for its version only if that never had a file.
    """
    before = body.version - 1
    if before < 0:
        _check_first(reader, body)
        return
    if after_file and known is not None:
        _check_same(reader, body, known)
        return
    states = (state_key(before), checkpoint_key(before), state_key(before, LEGACY_STATE_MANIFEST))
    places = (version_key(before), *(() if after_file else states))
    if all(reader.store.head(key) is None for key in places):
        raise PredecessorGone(f"version {body.version}, whose predecessor was cleaned up meanwhile")


def _check_same(reader: LogReader, body: VersionBody, known: Predecessor) -> None:
    """The file before it must be the known one, because another late writer may have filled that number, too."""
    store = reader.store
    seen = store.head(known.info.key)
    if seen is None:
        raise PredecessorGone(f"version {body.version}, whose predecessor was cleaned up meanwhile")
    if not is_known(store, known, seen):
        reader.forget()  # the known values may be of files that other ones have replaced
        raise PredecessorGone(f"version {body.version}, whose predecessor is not the file that was read")


def _check_first(reader: LogReader, body: VersionBody) -> None:
    """Version 0 has no predecessor: it counts unless it came late, into the log of another table that was cleaned
    meanwhile.

    Cleaning leaves a state or a checkpoint above the versions that it deletes, so a log without any was never cleaned.
    """
    listing = reader.full_listing()
    if not listing.states and not listing.checkpoints:
        return
    reader.resources.invalidate(reader.store.uri)  # the known values may be of an earlier table at this place
    fresh = LogReader(reader.store, reader.resources)
    table_id = fresh.metadata(fresh.latest()).id
    if not any(isinstance(action, Metadata) and action.id == table_id for action in body.actions):
        raise PredecessorGone(f"version 0, which another table at {reader.store.uri} had long ago")


def _nonce_at(store: Store, key: str) -> str | None:
    """The nonce of the version at `key`; "" for a foreign one, None if there is no such version."""
    try:
        data = store.get(key, max_bytes=MAX_VERSION_FILE_BYTES)
    except ObjectMissing:
        return None
    for action in decode_actions(data, key):
        if isinstance(action, CommitInfo):
            return str(action.body.get("nonce", ""))
    return ""


def _unknown(store: Store, body: VersionBody, reason: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"the store never said whether version {body.version} of {store.uri} was written ({reason}). "
        f"Look for {_named(body)} with `headgate table history {store.uri}` before you commit again"
    )


def _named(body: VersionBody) -> str:
    return f"proposal {', '.join(body.proposals[:3])}" if body.proposals else "it"
