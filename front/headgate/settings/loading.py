"""The settings of a process of Headgate, read once: options, then environment, then a TOML file.

Stores and tables don't read the environment; they get the settings from here.
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
    SettingsError,
)

from headgate.settings.committer_settings import CommitterSettings, committer_settings
from headgate.settings.page_settings import PageSettings, page_settings
from headgate.settings.worker_settings import WorkerSettings, worker_settings
from headgate_schemas.errors import InvalidInput
from headgate_table.settings.option_conflicts import contradiction
from headgate_table.settings.options import PREFIXES, SETTINGS, table_options
from headgate_table.store.settings import StoreSettings

_SQUEEZED_KEYS = {setting.key.replace(".", "").lower(): setting.key for setting in SETTINGS}
"""`state.entriesPerManifest` is HEADGATE_STATE_ENTRIES_PER_MANIFEST in the environment."""
_ALONE = ("BUS", "CONFIG", "LISTEN", "ROOTS")
"""Settings in the environment that belong to no group."""


class _Bus(BaseModel):
    """The table [bus] of a TOML file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    address: str | None = None


class _File(BaseModel):
    """The keys of a TOML file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    store: Mapping[str, str] = Field(default_factory=dict)
    table: Mapping[str, str] = Field(default_factory=dict)
    bus: _Bus = Field(default_factory=_Bus)
    committer: Mapping[str, str] = Field(default_factory=dict)
    worker: Mapping[str, str] = Field(default_factory=dict)
    page: Mapping[str, str] = Field(default_factory=dict)

    @field_validator("store", "table", "committer", "worker", "page", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return dict(_flat(value)) if isinstance(value, Mapping) else value


class _Environment(BaseSettings):
    """HEADGATE_CONFIG, _BUS, _ROOTS, _LISTEN, HEADGATE_STORE_…, HEADGATE_COMMITTER_…, _WORKER_…, _PAGE_… and the settings of tables."""

    model_config = SettingsConfigDict(
        frozen=True, env_prefix="HEADGATE_", env_nested_delimiter="_", env_nested_max_split=1
    )
    config: Path | None = None
    bus: str | None = None
    roots: str | None = None
    listen: str | None = None
    store: Mapping[str, str] = Field(default_factory=dict)
    table: Mapping[str, str] = Field(default_factory=dict)
    committer: Mapping[str, str] = Field(default_factory=dict)
    worker: Mapping[str, str] = Field(default_factory=dict)
    page: Mapping[str, str] = Field(default_factory=dict)
    misspelt: Mapping[str, str] = Field(default_factory=dict)
    """Variables that can only be meant for others, which they are mapped to."""
    data_home: Path | None = Field(default=None, validation_alias="XDG_DATA_HOME")
    """Where programs of this user keep what they make, by the rules of the desktops."""

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
        named = {"table": _named_in(env_settings.env_vars), "misspelt": _misspelt_in(env_settings.env_vars)}
        return (InitSettingsSource(settings_cls, named), env_settings)


class Settings(BaseModel):
    """Everything that a command, a committer or a worker needs to open tables and a bus."""

    model_config = ConfigDict(frozen=True)
    store: StoreSettings
    table: Mapping[str, str]
    bus: str | None = Field(default=None, repr=False)
    """The address, which may hold a password; None where commits go directly to tables."""
    committer: CommitterSettings = Field(default_factory=CommitterSettings)
    worker: WorkerSettings = Field(default_factory=WorkerSettings)
    page: PageSettings = Field(default_factory=PageSettings)
    own_bus: Path
    """Where a bus of this user lies on this machine, if one is made."""


def load_settings(
    store: Mapping[str, str],
    table: Mapping[str, str],
    config: Path | None,
    *,
    bus: str | None = None,
    committer: Mapping[str, str] | None = None,
    worker: Mapping[str, str] | None = None,
    page: Mapping[str, str] | None = None,
) -> Settings:
    """The effective settings: the given ones override the environment's, which override the TOML file's.

    Raises `InvalidInput` for unknown names, invalid values, and an unreadable file.
    """
    try:
        environment = _Environment()
    except SettingsError as error:
        raise InvalidInput(
            f"a setting in the environment can't be read ({error}): HEADGATE_STORE, HEADGATE_TABLE, HEADGATE_COMMITTER, "
            f"HEADGATE_WORKER and HEADGATE_PAGE only begin names, such as HEADGATE_STORE_S3_ENDPOINT"
        ) from None
    for name, meant in environment.misspelt.items():
        raise InvalidInput(f"the environment has {name}, which is no setting. Did you mean {meant}?")
    file = config or environment.config
    from_file = _File() if file is None else _read_file(file)
    table_settings: dict[str, str] = {}
    for layer in (from_file.table, environment.table, table):
        table_settings |= {table_setting_key(key): text for key, text in layer.items()}
    problem = contradiction(table_options(table_settings))
    if problem is not None:
        raise InvalidInput(f"the table settings of this process can't all be meant: {problem}")
    roots = {} if environment.roots is None else {"roots": environment.roots}
    shared = roots if environment.listen is None else roots | {"listen": environment.listen}
    data_home = environment.data_home
    if data_home is None or not data_home.is_absolute():
        data_home = Path.home() / ".local/share"
    return Settings(
        store=StoreSettings.from_layers(from_file.store, environment.store, store),
        table=table_settings,
        # An empty value means none, as in HEADGATE_BUS= of one command.
        bus=next((text for text in (bus, environment.bus, from_file.bus.address) if text is not None), None) or None,
        committer=committer_settings(from_file.committer, environment.committer, shared, committer or {}),
        worker=worker_settings(from_file.worker, environment.worker, shared, worker or {}),
        page=page_settings(from_file.page, environment.page, roots, page or {}),
        own_bus=data_home / "headgate/bus.db",
    )


def table_setting_key(given: str) -> str:
    """The setting's name without prefix. Raises `InvalidInput` for an unknown name."""
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
            "It may hold the tables [store], [table], [bus], [committer], [worker] and [page]"
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


def _misspelt_in(environment: Mapping[str, str | None]) -> dict[str, str]:
    """Variables that nearly name a setting; ignoring them could mean to serve every table."""
    found: dict[str, str] = {}
    for name in environment:
        upper = name.upper()
        rest = upper.removeprefix("HEADGATE_")
        if rest == upper or rest in _ALONE:
            continue
        near = difflib.get_close_matches(rest, _ALONE, n=1, cutoff=0.75) or [
            known for known in _ALONE if rest.startswith(f"{known}_")
        ]
        if near:
            found[upper] = f"HEADGATE_{near[0]}"
    return found


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """`s3.endpoint = …` is a nested table in TOML, and one name here."""
    pairs: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            pairs += _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            pairs.append((prefix + key, ",".join(map(str, value))))
        else:
            pairs.append((prefix + key, str(value).lower() if isinstance(value, bool) else str(value)))
    return pairs
