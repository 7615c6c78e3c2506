"""The effective settings of one table: options override the session's S3 settings, which override the environment.

For drivers, not executors. `StoreSettings` holds the secrets and doesn't show them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from headgate_schemas.errors import InvalidInput
from headgate_table.settings.options import SETTINGS
from headgate_table.store.settings import StoreSettings
from pyspark_headgate.options import SETTING_PREFIXES, SourceOptions

_TABLE_KEYS = frozenset(setting.key.lower() for setting in SETTINGS)
_BUS_KEY = "bus"

_HADOOP_S3 = {
    "access.key": "s3.access-key",
    "secret.key": "s3.secret-key",
    "session.token": "s3.session-token",
    "endpoint": "s3.endpoint",
    "endpoint.region": "s3.region",
    "path.style.access": "s3.path-style",
}
"""Hadoop's names for S3, behind `fs.s3a.`."""
_TLS_SWITCH = "connection.ssl.enabled"
_BUCKET = re.compile(r"s3[an]?://([^/]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Effective:
    """For `Table.open` and `Producer`."""

    store: StoreSettings
    table: Mapping[str, str]
    bus: str | None = field(repr=False)


class _Environment(BaseSettings):
    """HEADGATE_STORE_… and HEADGATE_BUS, as for every process of Headgate."""

    model_config = SettingsConfigDict(
        frozen=True, env_prefix="HEADGATE_", env_nested_delimiter="_", env_nested_max_split=1
    )
    store: Mapping[str, str] = Field(default_factory=dict)
    bus: str | None = None


def effective(given: SourceOptions) -> Effective:
    """Raises `InvalidInput` for invalid settings."""
    environment = _Environment()
    table: dict[str, str] = {}
    named_store: dict[str, str] = {}
    bus = environment.bus
    for key, text in given.settings.items():
        bare = _bare(key)
        if bare in _TABLE_KEYS:
            table[bare] = text
        elif bare == _BUS_KEY:
            bus = text
        elif _is_store_setting(bare):
            named_store[bare] = text
    hadoop, own = _split_store(given.store)
    store = StoreSettings.from_layers(environment.store, s3_settings(hadoop, given.path), named_store, own)
    return Effective(store, table, given.bus or bus)


def s3_settings(hadoop: Mapping[str, str], uri: str) -> dict[str, str]:
    """Store settings in Hadoop's `fs.s3a.…`; those of the table's own bucket win. Other names there are ignored."""
    bucket = _BUCKET.match(uri)
    found: dict[str, str] = {}
    uses_tls = True
    prefixes = ["fs.s3a."] if bucket is None else ["fs.s3a.", f"fs.s3a.bucket.{bucket[1].lower()}."]
    for prefix in prefixes:
        for key, text in hadoop.items():
            name = key.lower().removeprefix("spark.hadoop.")
            if not name.startswith(prefix) or not text:
                continue
            bare = name.removeprefix(prefix)
            if bare == _TLS_SWITCH:
                uses_tls = text.strip().lower() != "false"
            elif bare in _HADOOP_S3:
                found[_HADOOP_S3[bare]] = text
    endpoint = found.get("s3.endpoint")
    if endpoint is not None and "://" not in endpoint:
        found["s3.endpoint"] = f"{'https' if uses_tls else 'http'}://{endpoint}"
    return found


def _split_store(store: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    hadoop = {key: text for key, text in store.items() if "fs.s3a." in key}
    return hadoop, {key: text for key, text in store.items() if key not in hadoop}


def _bare(key: str) -> str:
    for prefix in SETTING_PREFIXES:
        if key.startswith(prefix):
            return key[len(prefix) :]
    return key


@cache
def _is_store_setting(key: str) -> bool:
    """Whether the name is a store setting. Sessions may carry other programs' settings under the prefix; these are
    ignored.
    """
    try:
        StoreSettings.from_mapping({key: "true"})
    except InvalidInput:
        return False
    return True
