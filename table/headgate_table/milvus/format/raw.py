"""Manifests as bare Avro values: the magic number, the version, and the parts one after the other, without a schema.

This is the form of versions 1 to 3 (docs/format.md, section 10.1 and 10.3); `container` has the form of later files.
"""

from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.milvus.format import parts
from headgate_table.milvus.format.binary import Cursor, long_bytes
from headgate_table.milvus.format.manifest import Manifest, ManifestForm

MAGIC = 0x4D494C56
MAGIC_BYTES = long_bytes(MAGIC)
"""Not the letters MILV: the number's variable-length form."""

_FORMS = {form.version: form for form in ManifestForm if not form.is_container}


def decode_raw(data: bytes, name: str) -> Manifest:
    """The manifest in `data`. Raises `CorruptTable` or, for versions without this form, `UnsupportedTable`."""
    cursor = Cursor(data, name)
    try:
        return _decode(cursor)
    except IndexError:
        raise CorruptTable(f"{name} is truncated: it ends after {len(data)} bytes, inside of a value") from None


def encode_raw(manifest: Manifest, form: ManifestForm) -> bytes:
    """The bytes that the first writers wrote for these values, exactly. The caller has checked that the form can hold
    them.
    """
    version = form.version
    pieces = [
        MAGIC_BYTES,
        long_bytes(version),
        parts.groups_bytes(manifest.column_groups, with_properties=False),
        parts.delta_logs_bytes(manifest.delta_logs),
        parts.stats_bytes(manifest.stats, as_records=version >= 3),
    ]
    if version >= 2:
        pieces.append(parts.indexes_bytes(manifest.indexes, whole=False))
    return b"".join(pieces)


def _decode(cursor: Cursor) -> Manifest:
    if not cursor.data.startswith(MAGIC_BYTES):
        raise _foreign(cursor)
    cursor.position = len(MAGIC_BYTES)
    version = cursor.long()
    form = _FORMS.get(version)
    if form is None:
        raise UnsupportedTable(
            f"{cursor.name} is a raw manifest of version {version}; known are {', '.join(map(str, _FORMS))}. "
            f"Read it with a newer Headgate, if it was written by a newer Milvus"
        )
    groups = parts.read_groups(cursor, with_properties=False)
    logs = parts.read_delta_logs(cursor)
    stats = parts.read_stats(cursor, as_records=version >= 3)
    indexes = parts.read_indexes(cursor, whole=False) if version >= 2 else ()
    rest = len(cursor.data) - cursor.position
    # Every known reader ignores further bytes. So does this one, but the next version would lose them.
    unknown = (f"{rest} bytes behind its end",) if rest else ()
    return Manifest(groups, logs, stats, indexes, form=form, unknown=unknown)


def _foreign(cursor: Cursor) -> CorruptTable:
    data = cursor.data
    if not data:
        return CorruptTable(f"{cursor.name} is empty: its writer was interrupted, or it is no manifest")
    if MAGIC_BYTES.startswith(data):
        return CorruptTable(f"{cursor.name} is truncated: it ends after {len(data)} bytes, inside of its magic number")
    return CorruptTable(
        f"{cursor.name} is no Milvus manifest: it starts with {data[:8].hex()}, and neither with the magic number "
        f"{MAGIC_BYTES.hex()} nor as an Avro container. Manifests from before January 2026 carried no magic number; "
        f"rewrite those with the library that wrote them"
    )
