"""What a process of Headgate is told from outside, read once: options, then environment, then a TOML file.

Stores and tables know nothing of the environment; they are handed what is found here.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.options import PREFIXES, SETTINGS, table_options
from headgate_table.store.settings import StoreSettings

_SQUEEZED_KEYS = {setting.key.replace(".", "").lower(): setting.key for setting in SETTINGS}
"""`state.entriesPerManifest` is HEADGATE_STATE_ENTRIES_PER_MANIFEST in the environment."""


class _File(BaseModel):
    """What a TOML file may say."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    store: Mapping[str, str] = Field(default_factory=dict)
    table: Mapping[str, str] = Field(default_factory=dict)

    @field_validator("store", "table", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return dict(_flat(value)) if isinstance(value, Mapping) else value


class _Environment(BaseSettings):
    """HEADGATE_CONFIG, HEADGATE_STORE_… and the settings of tables."""

    model_config = SettingsConfigDict(
        frozen=True, env_prefix="HEADGATE_", env_nested_delimiter="_", env_nested_max_split=1
    )
    config: Path | None = None
    store: Mapping[str, str] = Field(default_factory=dict)
    table: Mapping[str, str] = Field(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        assert isinstance(env_settings, EnvSettingsSource)
        return (InitSettingsSource(settings_cls, {"table": _named_in(env_settings.env_vars)}), env_settings)


class Settings(BaseModel):
    """Everything a command needs to open a table."""

    model_config = ConfigDict(frozen=True)
    store: StoreSettings
    table: Mapping[str, str]


def load_settings(store: Mapping[str, str], table: Mapping[str, str], config: Path | None) -> Settings:
    """The settings in force: those given here, over the environment's, over those of the TOML file.

    Raises `InvalidInput` for names that mean nothing, values that can't be, and a file that can't be read.
    """
    environment = _Environment()
    file = config or environment.config
    from_file = _File() if file is None else _read_file(file)
    table_settings: dict[str, str] = {}
    for layer in (from_file.table, environment.table, table):
        table_settings |= {table_setting_key(key): text for key, text in layer.items()}
    table_options(table_settings)
    return Settings(store=StoreSettings.from_layers(from_file.store, environment.store, store), table=table_settings)


def table_setting_key(given: str) -> str:
    """The setting's name without prefix. Raises `InvalidInput` for a name that none has."""
    bare = given
    for prefix in PREFIXES:
        bare = bare.removeprefix(prefix)
    found = _SQUEEZED_KEYS.get(re.sub(r"[._-]", "", bare).lower())
    if found is not None:
        return found
    keys = [setting.key for setting in SETTINGS]
    near = difflib.get_close_matches(bare, keys, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(keys)}"
    raise InvalidInput(f"there is no table setting {given!r}. {hint}")


def _read_file(path: Path) -> _File:
    try:
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"the settings file {path} is no valid TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the settings file {path} is not UTF-8: {error.reason}") from None
    except OSError as error:
        raise InvalidInput(
            f"the settings file {path} can't be read ({error.strerror}): check --config and HEADGATE_CONFIG"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(
            f"the settings file {path} has something wrong at {where!r}: {first['msg']}. "
            "It may hold the tables [store] and [table]"
        ) from None


def _named_in(environment: Mapping[str, str | None]) -> dict[str, str]:
    """The table's settings in the environment: HEADGATE_ and the name, in capitals with underscores."""
    found: dict[str, str] = {}
    for name, text in environment.items():
        upper = name.upper()
        if text is not None and upper.startswith("HEADGATE_"):
            key = _SQUEEZED_KEYS.get(upper.removeprefix("HEADGATE_").replace("_", "").lower())
            if key is not None:
                found[key] = text
    return found


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """`s3.endpoint = …` is a table in a table to TOML, and one name to us."""
    pairs: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            pairs.append((prefix + key, str(value).lower() if isinstance(value, bool) else str(value)))
    return pairs
