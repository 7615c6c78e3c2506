"""Which codes a refusal may have, as docs/protocol.md lists them. A test compares the two, and both with the product's codes."""

from collections.abc import Mapping

from headgate_schemas.messages.operations import RejectCode

UNDECIDED = frozenset({RejectCode.UNREADABLE, RejectCode.UNKNOWN_TABLE, RejectCode.OVER_BOUND})
"""A receipt may tell them of a dead letter, which is no decision."""
NEVER_DECIDED = frozenset({RejectCode.EXPIRED, RejectCode.SUPERSEDED, RejectCode.MISPLACED})
"""No version holds them: they say nothing of a first delivery."""
_ANY = frozenset({RejectCode.INVALID, RejectCode.READ_CONFLICT}) | UNDECIDED
"""What any operation may be refused for. The first version of a table takes over what was told before it was there."""
OF_WRITERS = frozenset({RejectCode.SEQ_SKIPPED})
"""What a proposal of a writer may be refused for, beside that."""
_ADDING = frozenset({RejectCode.PATH_IN_USE, RejectCode.PARTITION_MISMATCH, RejectCode.SCHEMA_MISMATCH})
CODES: Mapping[str, frozenset[RejectCode]] = {
    "Append": _ADDING,
    "Overwrite": _ADDING | {RejectCode.OUTSIDE_WHERE, RejectCode.NOT_A_PARTITION},
    "Delete": frozenset({RejectCode.NOT_LIVE, RejectCode.NOT_A_PARTITION}),
    "Rewrite": _ADDING | {RejectCode.SOURCE_GONE, RejectCode.RECORDS_DIFFER},
    "Restore": frozenset({RejectCode.GONE}),
    "Skip": frozenset(),
    "Alter": frozenset({RejectCode.METADATA_CHANGED, RejectCode.SCHEMA_CHANGE}),
    "Purge": frozenset({RejectCode.STILL_NEEDED}),
    "CompactState": frozenset({RejectCode.BASE_GONE}),
    "Create": frozenset({RejectCode.ALREADY_EXISTS}),
    "Milvus": frozenset({RejectCode.RESOLVER_REFUSED, RejectCode.PATH_IN_USE}),
}
"""What each operation may be refused for, beside what any may be."""


def may_hold(kind: str, code: RejectCode, *, by_writer: bool) -> bool:
    """Whether a version may say that an operation of this kind is refused by the code."""
    return code in _ANY | CODES[kind] or (by_writer and code in OF_WRITERS)
