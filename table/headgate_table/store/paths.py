"""The rules for keys and file paths, in one place: relative, normalised, inside the table, bounded."""

import re

from headgate_schemas.errors import InvalidInput

MAX_KEY_BYTES = 1024
"""The limit of S3; Azure allows as many characters."""

MAX_COMPONENT_BYTES = 255
"""The limit of common local file systems, so that a table can be copied anywhere."""

HUDI_LOG = ".hoodie"
"""The folder in which a Hudi table keeps its log."""


def check_key(key: str) -> str:
    """Return `key` if it names something strictly inside of the root, else raise `InvalidInput`."""
    problem = _problem(key)
    if problem:
        raise InvalidInput(f"path {key[:200]!r} can't be used: {problem}")
    return key


def is_key(key: str) -> bool:
    """Whether `check_key` accepts it: listings leave out names that nobody could request."""
    return _problem(key) is None


def check_prefix(prefix: str) -> str:
    """Return `prefix` if it is empty or the beginning of a usable key, with or without a "/" at its end."""
    if prefix:
        check_key(prefix.removesuffix("/"))
    return prefix


def check_folder(prefix: str) -> str:
    """Return `prefix` if it is "" or a usable key followed by "/"."""
    if prefix and not prefix.endswith("/"):
        raise InvalidInput(f"folder {prefix[:200]!r} can't be listed: write it with a / at its end")
    return check_prefix(prefix)


def is_hidden_folder(name: str) -> bool:
    """Whether a folder of this name holds nothing of a table: a leading dot or underscore, unless it is a partition's folder
    (`name=value`), whose column may have any name."""
    return name.startswith((".", "_")) and "=" not in name


def is_listed_folder(name: str) -> bool:
    """Whether a listing of a local folder enters a folder of this name.

    A leading dot hides what editors, file managers and Hadoop keep there. Hudi's log has one, too: unseen, the files of a Hudi
    table inside of the table would be nobody's.
    """
    return not name.startswith(".") or not is_hidden_folder(name) or name == HUDI_LOG


_PLAIN = re.compile(r"[A-Za-z0-9_=-][A-Za-z0-9_=.-]{0,99}(/[A-Za-z0-9_=-][A-Za-z0-9_=.-]{0,99}){0,9}")
"""Most paths look like this; what matches breaks no rule."""


def _problem(key: str) -> str | None:
    if len(key) <= MAX_KEY_BYTES and _PLAIN.fullmatch(key):
        return None
    if not key:
        return "it is empty"
    try:
        encoded = key.encode("utf-8")
    except UnicodeEncodeError:
        return "it is not valid Unicode (a lone surrogate)"
    if len(encoded) > MAX_KEY_BYTES:
        return f"it is longer than {MAX_KEY_BYTES} bytes"
    if key.startswith("/"):
        return "it is absolute; paths are relative to the table"
    if "\\" in key:
        return "it contains a backslash; separate folders with /"
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in key):
        return "it contains a control character"
    for component in key.split("/"):
        if component == "":
            return "it contains an empty folder name (// or a trailing /)"
        if component in (".", ".."):
            return f"it contains {component!r}; write the path without it"
        if len(component.encode("utf-8")) > MAX_COMPONENT_BYTES:
            return f"one of its parts is longer than {MAX_COMPONENT_BYTES} bytes"
    return None
