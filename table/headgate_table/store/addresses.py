"""One canonical spelling for the address of each table, whichever spelling a user writes.

`open` opens stores. This module reads nothing at an address, except for symbolic links of local folders.
"""

import os
from collections.abc import Sequence

from headgate_schemas.errors import InvalidInput
from headgate_table.store.open import file_path

_SAME = {"s3a": "s3", "s3n": "s3", "azure": "az", "abfs": "abfss", "wasb": "abfss", "wasbs": "abfss"}


def table_address(uri: str) -> str:
    """The address by which every process knows the table at `uri`; for local folders, the plain absolute path.

    Raises `InvalidInput` for an invalid address. A canonical address is returned unchanged. Schemes are not checked: a
    process may open stores that `open_store` doesn't know.
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
    known = _SAME.get(known, known)
    if known == "abfss":
        authority = _azure_authority(authority)
    if known == "az":
        authority = authority.lower()  # containers have no capitals
    return f"{known}://{authority}/{prefix.strip('/')}".rstrip("/")


def _azure_authority(authority: str) -> str:
    """`container@account.dfs.domain`, for either of the account's two services and any case."""
    container, at, host = authority.partition("@")
    account, dot, suffix = host.lower().partition(".")
    if suffix.startswith("blob."):
        suffix = f"dfs.{suffix.removeprefix('blob.')}"
    return f"{container.lower()}{at}{account}{dot}{suffix}"


def lies_below(address: str, roots: Sequence[str]) -> bool:
    """Whether one of these roots is, or contains, the table at this address; all of them spelled by `table_address`.

    A root is compared by whole names: `s3://lake` doesn't contain `s3://lake-2/t`.
    """
    return any(address == root or address.startswith(f"{root.rstrip('/')}/") for root in roots)
