"""The place of a table, as a value that is sent to executors, which open it with PyArrow alone.

`store_place` makes one on the driver; the rest of this module needs no other part of Headgate.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pyarrow import fs

if TYPE_CHECKING:
    from headgate_table.store.settings import StoreSettings

REQUEST_LIMIT_S = 60.0
CONNECT_LIMIT_S = 10.0
"""As the stores of the table room: longer than any healthy request takes."""

_ABFS_HOST = re.compile(r"([^@/]+)@([^./]+)\.(?:dfs|blob)\.(.+)")


@dataclass(frozen=True, slots=True)
class StorePlace:
    """The root of a table in some file system. Secrets are not shown."""

    kind: Literal["local", "s3", "azure"]
    root: str
    """An absolute path; or bucket or container, and prefix."""
    access: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Arguments of PyArrow's file system."""
    durable: bool = True
    """Whether what is written must survive a power cut before it counts as written. Of local places."""

    def open(self) -> fs.FileSystem:
        """The file system; `path` makes paths in it."""
        match self.kind:
            case "local":
                return fs.LocalFileSystem()
            case "s3":
                return fs.S3FileSystem(
                    connect_timeout=CONNECT_LIMIT_S,
                    request_timeout=REQUEST_LIMIT_S,
                    background_writes=True,
                    **self.access,
                )
            case "azure":
                return fs.AzureFileSystem(**self.access)

    def path(self, key: str) -> str:
        """The file system's path of a file, by its path in the table."""
        return f"{self.root}/{key}"


def store_place(uri: str, settings: "StoreSettings") -> StorePlace:
    """The place of the table at `uri`. Raises `InvalidInput` for an address that names no store."""
    from headgate_schemas.errors import InvalidInput
    from headgate_table.store.addresses import table_address

    address = table_address(uri)
    scheme, separator, rest = address.partition("://")
    if not separator:
        return StorePlace("local", address, durable=settings.local_durable)
    if scheme == "s3":
        return StorePlace("s3", rest, _s3_access(settings))
    if scheme == "az":
        return StorePlace("azure", rest, _azure_access(settings, None))
    authority, _, prefix = rest.partition("/")
    host = _ABFS_HOST.fullmatch(authority)
    if scheme in ("abfs", "abfss", "wasb", "wasbs") and host is not None:
        return StorePlace("azure", f"{host[1]}/{prefix}".rstrip("/"), _azure_access(settings, host[2]))
    raise InvalidInput(f"{uri} is no address that Spark can write to: give a path, or one of s3://, az:// and abfss://")


def _s3_access(settings: "StoreSettings") -> dict[str, Any]:
    given: dict[str, Any] = {
        "access_key": settings.s3_access_key,
        "secret_key": settings.s3_secret_key,
        "session_token": settings.s3_session_token,
        "region": settings.s3_region,
    }
    if settings.s3_profile and not settings.s3_access_key:
        given |= _of_profile(settings.s3_profile, settings.s3_region)
    access = {name: value for name, value in given.items() if value is not None}
    if settings.s3_endpoint:
        scheme, separator, host = settings.s3_endpoint.rpartition("://")
        access |= {"endpoint_override": host.rstrip("/"), "scheme": scheme if separator else "https"}
        access.setdefault("region", "us-east-1")
        access["force_virtual_addressing"] = settings.s3_path_style is False
    return access


def _of_profile(profile: str, region: str | None) -> dict[str, Any]:
    """The credentials of a profile. Executors don't have this machine's profiles, so the driver looks them up."""
    import boto3

    session = boto3.session.Session(profile_name=profile)
    found = session.get_credentials()
    keys: dict[str, Any] = {"region": region or session.region_name}
    if found is not None:
        frozen = found.get_frozen_credentials()
        keys |= {"access_key": frozen.access_key, "secret_key": frozen.secret_key, "session_token": frozen.token}
    return keys


def _azure_access(settings: "StoreSettings", account: str | None) -> dict[str, Any]:
    parts = dict(part.split("=", 1) for part in (settings.azure_connection_string or "").split(";") if "=" in part)
    url = parts.get("BlobEndpoint") or settings.azure_account_url
    named = account or parts.get("AccountName") or settings.azure_account_name
    access: dict[str, Any] = {}
    if url:
        scheme, _, rest = url.rpartition("://")
        host, _, below = rest.partition("/")
        if below.strip("/"):  # an emulator, whose addresses name the account after the host
            named = named or below.strip("/")
            access |= {"blob_storage_authority": host, "dfs_storage_authority": host}
            access |= {"blob_storage_scheme": scheme or "https", "dfs_storage_scheme": scheme or "https"}
        else:
            named = named or host.partition(".")[0]
    access["account_name"] = named
    key = parts.get("AccountKey") or settings.azure_account_key
    token = parts.get("SharedAccessSignature") or settings.azure_sas_token
    if key:
        access["account_key"] = key
    elif token:
        access["sas_token"] = token.removeprefix("?")
    return access
