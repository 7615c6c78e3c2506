"""One spelling for each place: what a table is called between processes, whichever of its addresses a user writes.

Opening a store is `open`'s. What lies behind an address is not looked at, except for symbolic links of local folders.
"""

import os
from collections.abc import Sequence

from headgate_schemas.errors import InvalidInput
from headgate_table.store.open import file_path

_SAME = {"s3a": "s3", "s3n": "s3", "azure": "az", "abfs": "abfss", "wasb": "abfss", "wasbs": "abfss"}


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
    known = _SAME.get(known, known)
    if known == "abfss":
        authority = _azure_authority(authority)
    if known == "az":
        authority = authority.lower()  # containers have no capitals
    return f"{known}://{authority}/{prefix.strip('/')}".rstrip("/")


def _azure_authority(authority: str) -> str:
    """`container@account.dfs.domain`, whichever of the account's two services and whatever case was written."""
    container, at, host = authority.partition("@")
    account, dot, suffix = host.lower().partition(".")
    if suffix.startswith("blob."):
        suffix = f"dfs.{suffix.removeprefix('blob.')}"
    return f"{container.lower()}{at}{account}{dot}{suffix}"


def lies_below(address: str, roots: Sequence[str]) -> bool:
    """Whether one of these roots is, or holds, the table at this address; all of them as `table_address` spells them.

    A root holds whole names only: `s3://lake` is no root of `s3://lake-2/t`.
    """
    return any(address == root or address.startswith(f"{root.rstrip('/')}/") for root in roots)
