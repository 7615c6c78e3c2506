"""One spelling for each place: what a table is called between processes, whichever of its addresses a user writes.

Opening a store is `open`'s. What lies behind an address is not looked at, except for symbolic links of local folders.
"""

import os

from headgate_schemas.errors import InvalidInput
from headgate_table.store.open import file_path

_SAME = {"s3a": "s3", "s3n": "s3", "azure": "az"}


def table_address(uri: str) -> str:
    """The address by which every process knows the table at `uri`: of local folders, the plain absolute path.

    Raises `InvalidInput` for what is no address. An address that this returned is returned as it is. Schemes are not
    checked: a process may open stores that `open_store` doesn't know.
    """
    if not uri.strip() or "\0" in uri:
        raise InvalidInput(f"{uri!r} is no address of a table")
    scheme, separator, rest = uri.partition("://")
    if not separator and uri[:6].lower() == "file:/":  # Hadoop writes file:/path
        scheme, separator, rest = "file", "://", uri[5:]
    if not separator:
        return os.path.realpath(uri)
    known = scheme.lower()
    if known == "file":
        return os.path.realpath(file_path(uri, rest))
    authority, _, prefix = rest.partition("/")
    if not authority:
        raise InvalidInput(f"{uri!r} names no bucket or container")
    return f"{_SAME.get(known, known)}://{authority}/{prefix.strip('/')}".rstrip("/")
