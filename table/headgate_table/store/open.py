"""Opens the store of an address: the schemes, and the meaning of each part of an address."""

import difflib
import errno
import os
import re
import stat
from urllib.parse import unquote

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import FileInTheWay, StoreError
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from headgate_table.store.paths import check_key
from headgate_table.store.settings import StoreSettings

__all__ = ["StoreSettings", "open_store"]

_S3_SCHEMES = ("s3", "s3a", "s3n")
_AZURE_SCHEMES = ("az", "azure")
_HADOOP_AZURE_SCHEMES = ("abfss", "abfs", "wasbs", "wasb")
_SCHEMES = ("file", *_S3_SCHEMES, *_AZURE_SCHEMES, *_HADOOP_AZURE_SCHEMES)
_NEVER = (errno.ENAMETOOLONG, errno.ELOOP)
"""What no waiting mends: a name that is too long, links in a circle."""
MAX_BUCKET_BYTES = 255
MAX_PREFIX_BYTES = 800
"""Of a table's path in a bucket: the log's own names take a hundred bytes, those of data files what is left."""
_SHOWN_SCHEMES = "a plain path, file://, s3://, s3a://, az://, abfss://"


def open_store(uri: str, settings: StoreSettings, ambient: Ambient) -> Store:
    """The store at `uri`. Sends no request to a server yet.

    Raises `InvalidInput` for an invalid address, `FileInTheWay`, and `StoreError` if a library or setting is missing.
    """
    if not uri.strip() or "\0" in uri:
        raise InvalidInput(f"{uri!r} is no address of a table: give {_SHOWN_SCHEMES}")
    scheme, rest = split_address(uri)
    shown = uri.rstrip("/")
    if scheme == "":
        return LocalStore(_possible(uri, uri), ambient, durable=settings.local_durable)
    if scheme == "file":
        path = _possible(uri, file_path(uri, rest))
        return LocalStore(path, ambient, uri=shown, durable=settings.local_durable)
    if scheme in _S3_SCHEMES:
        bucket, prefix = _bucket_and_prefix(uri, rest, "s3://BUCKET/path")
        return _open_s3(bucket, prefix, settings, ambient, shown)
    if scheme in _AZURE_SCHEMES:
        container, prefix = _bucket_and_prefix(uri, rest, "az://CONTAINER/path")
        return _open_azure(container, prefix, settings, ambient, shown, account_url=None)
    container, account_url, prefix = _hadoop_azure_parts(uri, rest)
    return _open_azure(container, prefix, settings, ambient, shown, account_url=account_url)


def split_address(uri: str) -> tuple[str, str]:
    """The scheme, "" for a plain path, and the rest. Raises `InvalidInput` for a scheme without a store."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        single = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):(/.*)", uri)
        if single is None or single[1].lower() not in _SCHEMES:
            return "", uri
        if single[1].lower() == "file":  # Hadoop writes file:/path
            return "file", single[2]
        raise InvalidInput(f"{uri!r} has one slash after {single[1]}: write {single[1]}://{single[2].lstrip('/')}")
    if scheme.lower() in _SCHEMES:
        return scheme.lower(), rest
    near = difflib.get_close_matches(scheme.lower(), _SCHEMES, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}://?" if near else ""
    raise InvalidInput(f"{uri!r} begins with {scheme}://, which no store understands.{hint} Known are {_SHOWN_SCHEMES}")


def file_path(uri: str, rest: str) -> str:
    """The plain path of a file:// address, from the part after its scheme."""
    host, slash, path = rest.partition("/")
    if not slash or host not in ("", "localhost"):
        raise InvalidInput(f"{uri!r} names the host {host!r}: a local path is written file:///path, with three slashes")
    return os.path.normpath("/" + unquote(path))


def _possible(uri: str, path: str) -> str:
    """The path, if a folder can be there at all: nobody should wait for an impossible one."""
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except NotADirectoryError:
        is_folder = False
    except OSError as error:
        if error.errno in _NEVER:
            raise InvalidInput(f"no table can be at {uri[:200]!r}: {error.strerror}") from None
        return path
    if not is_folder:
        file = _file_in_the_way(path)
        raise FileInTheWay(
            f"no table is at {uri[:200]!r}: {file} is a file, not a folder. Is the address right, and is its disk mounted?",
            file,
        )
    return path


def _file_in_the_way(path: str) -> str:
    """The deepest part of the path that exists."""
    part = os.path.abspath(path)
    while not os.path.lexists(part):
        part = os.path.dirname(part)
    return part


def _bucket_and_prefix(uri: str, rest: str, shape: str) -> tuple[str, str]:
    bucket, _, prefix = rest.partition("/")
    if not bucket or "@" in bucket:
        raise InvalidInput(f"{uri!r} can't be understood: write {shape}")
    if len(os.fsencode(bucket)) > MAX_BUCKET_BYTES:
        raise InvalidInput(
            f"no table can be at {uri[:200]!r}: no bucket has a name of more than {MAX_BUCKET_BYTES} bytes"
        )
    return bucket, _prefix(uri, prefix)


def _hadoop_azure_parts(uri: str, rest: str) -> tuple[str, str, str]:
    authority, _, prefix = rest.partition("/")
    container, at, host = authority.partition("@")
    account, dot, suffix = host.partition(".")
    service, _, domain = suffix.partition(".")
    if not (container and at and account and dot and domain) or service not in ("dfs", "blob"):
        raise InvalidInput(f"{uri!r} can't be understood: write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/path")
    return container, f"https://{account}.blob.{domain}", _prefix(uri, prefix)


def _prefix(uri: str, prefix: str) -> str:
    stripped = prefix.strip("/")
    if len(stripped.encode("utf-8", "surrogatepass")) > MAX_PREFIX_BYTES:
        raise InvalidInput(
            f"no table can be at {uri[:200]!r}: a path of more than {MAX_PREFIX_BYTES} bytes leaves no room for the names of its "
            f"files, since object stores take keys of 1,024 bytes"
        )
    return check_key(stripped) if stripped else ""


def _open_s3(bucket: str, prefix: str, settings: StoreSettings, ambient: Ambient, uri: str) -> Store:
    try:
        from headgate_table.store.s3.store import S3Store
    except ModuleNotFoundError as error:
        raise _not_installed(error, uri, ("boto3", "botocore", "s3transfer"), "s3") from error
    return S3Store(bucket, prefix, settings, ambient, uri=uri)


def _open_azure(
    container: str, prefix: str, settings: StoreSettings, ambient: Ambient, uri: str, *, account_url: str | None
) -> Store:
    try:
        from headgate_table.store.azure.store import AzureStore
    except ModuleNotFoundError as error:
        raise _not_installed(error, uri, ("azure",), "azure") from error
    return AzureStore(container, prefix, settings, ambient, uri=uri, account_url=account_url)


def _not_installed(error: ModuleNotFoundError, uri: str, libraries: tuple[str, ...], extra: str) -> BaseException:
    if (error.name or "").split(".")[0] not in libraries:
        return error
    return StoreError(f"{uri} needs a library that is not installed: pip install 'headgate[{extra}]'")
