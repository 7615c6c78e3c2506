"""The seal of a version file: a first line with the version's number, the count of following lines, and their digest.
Pure.

It is the first line, because a truncated file loses its end. Known readers ignore the line (docs/format.md, section
13). Files of other writers, and of earlier releases, have none.
"""

import hashlib
import json

from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import is_log_name, parse_version_name

SEALED = "sealed"
"""In a `commitInfo`: the file has a seal, so one that has lost it is damaged."""

_START = b'{"seal":'


def sealed(version: int, text: bytes) -> bytes:
    """The lines of a version file, which must end with a newline, after their seal."""
    seal = {"version": version, "lines": text.count(b"\n"), "sha256": hashlib.sha256(text).hexdigest()}
    return b"".join((json.dumps({"seal": seal}, separators=(",", ":")).encode("ascii"), b"\n", text))


def unsealed(text: bytes, name: str) -> tuple[bytes, bool]:
    """The lines without the seal, and whether they had one. Raises `CorruptTable` if it doesn't fit them or the name."""
    if not text.startswith(_START):
        return text, False
    line, _, rest = text.partition(b"\n")
    try:
        seal = json.loads(line)["seal"]
        version, lines, digest = seal["version"], seal["lines"], seal["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptTable(f"{name}: its first line, which seals it, is damaged. {_ADVICE}") from error
    if digest != hashlib.sha256(rest).hexdigest():
        found = rest.count(b"\n")
        what = f"it holds {found} of {lines} lines" if found != lines else "a line was changed"
        raise CorruptTable(f"{name} is damaged: its checksum is wrong, {what}. {_ADVICE}")
    own = name.rpartition("/")[2]
    if is_log_name(own) and version != parse_version_name(own):
        raise CorruptTable(f"{name} holds what was written as version {version}: files were mixed up. {_ADVICE}")
    return rest, True


_ADVICE = "Restore it from a copy of the table; `headgate table verify` shows what is affected"
