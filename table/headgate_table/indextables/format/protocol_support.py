"""The protocols and features that this release reads and writes, and the refusal of all others."""

from headgate_schemas.actions.actions import MAX_PROTOCOL_VERSION, Protocol
from headgate_table.errors import UnsupportedTable

READER_FEATURES = frozenset(
    {"skippedFiles", "extendedMetadata", "footerOffsets", "multiPartCheckpoint", "schemaDeduplication", "avroState"}
)
WRITER_FEATURES = READER_FEATURES | {"checkpoint", "optimizeWrite"}
FEATURES_SINCE = 3
"""The protocol version from which feature lists mean something."""


def check_readable(protocol: Protocol, uri: str) -> None:
    """Raise `UnsupportedTable` if only a newer Headgate may read the table."""
    _check(uri, "reader", "reads", protocol.min_reader_version, protocol.reader_features, READER_FEATURES)


def check_writable(protocol: Protocol, uri: str) -> None:
    """Raise `UnsupportedTable` if only a newer Headgate may write the table."""
    _check(uri, "writer", "writes", protocol.min_writer_version, protocol.writer_features, WRITER_FEATURES)


def _check(
    uri: str, who: str, does: str, version: int, features: tuple[str, ...] | None, known: frozenset[str]
) -> None:
    if version > MAX_PROTOCOL_VERSION:
        raise UnsupportedTable(
            f"{uri} needs a {who} of protocol {version}; this Headgate {does} up to {MAX_PROTOCOL_VERSION}. Upgrade Headgate"
        )
    unknown = sorted(set(features or ()) - known) if version >= FEATURES_SINCE else []
    if unknown:
        raise UnsupportedTable(
            f"{uri} needs the {who} features {', '.join(unknown)}, which this Headgate doesn't have. Upgrade Headgate"
        )
