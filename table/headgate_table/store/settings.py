"""The settings of all stores and their names. This module doesn't read the environment or files."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from headgate_schemas.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The settings of all stores. All are optional: the cloud's own credential chain supplies missing ones.

    Examples:
        >>> headgate.StoreSettings(s3_region="eu-west-1").s3_region
        'eu-west-1'
    """

    s3_endpoint: str | None = None
    s3_region: str | None = None
    s3_path_style: bool | None = None
    """None: path style when an endpoint is set, as most servers other than AWS need."""
    s3_access_key: str | None = None
    s3_secret_key: str | None = field(default=None, repr=False)
    s3_session_token: str | None = field(default=None, repr=False)
    s3_profile: str | None = None
    azure_connection_string: str | None = field(default=None, repr=False)
    azure_account_url: str | None = None
    azure_account_name: str | None = None
    azure_account_key: str | None = field(default=None, repr=False)
    azure_sas_token: str | None = field(default=None, repr=False)
    azure_bearer_token: str | None = field(default=None, repr=False)
    local_durable: bool = True
    """False: a local write may be lost in a power cut. For tests and benchmarks."""

    @classmethod
    def of(cls, given: "Mapping[str, str] | StoreSettings | None") -> "StoreSettings":
        """Settings as arguments give them: themselves, by their keys as in `from_mapping`, or none.

        Examples:
            >>> headgate.StoreSettings.of({"s3.region": "eu-west-1"}).s3_region
            'eu-west-1'
        """
        return given if isinstance(given, StoreSettings) else cls.from_mapping(dict(given or {}))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, str]) -> "StoreSettings":
        """Settings from the documented keys, such as `s3.access-key`, and from the names known from IndexTables.

        Raises `InvalidInput` for an unknown key, for a switch that is neither true nor false, and for one setting that is
        given twice with different values.

        Examples:
            >>> headgate.StoreSettings.from_mapping({"s3.region": "eu-west-1"}).s3_region
            'eu-west-1'
        """
        return cls.from_layers(mapping)

    @classmethod
    def from_layers(cls, *mappings: Mapping[str, str]) -> "StoreSettings":
        """The same from several mappings. A later mapping overrides the earlier ones, under any of the names.

        Examples:
            >>> headgate.StoreSettings.from_layers({"aws.region": "eu-west-1"}, {"s3.region": "us-east-1"}).s3_region
            'us-east-1'
        """
        values: dict[str, str | bool] = {}
        for mapping in mappings:
            values |= _values(mapping)
        for name in _ADDRESSES:
            _check_no_secret(name, str(values.get(name, "")))
        return cls(**values)  # type: ignore[arg-type]  # names and types were matched with the fields just above


def _values(mapping: Mapping[str, str]) -> dict[str, str | bool]:
    values: dict[str, str | bool] = {}
    given: dict[str, str] = {}
    for key, text in mapping.items():
        name = _field_of(key)
        value = _switch(key, text) if name in _SWITCHES else text
        if name in values and values[name] != value:
            raise InvalidInput(f"store settings {given[name]!r} and {key!r} mean the same and differ: keep one of them")
        values[name] = value
        given[name] = key
    return values


DOCUMENTED_KEYS: dict[str, str] = {
    name.name.replace("_", ".", 1).replace("_", "-"): name.name for name in fields(StoreSettings)
}
"""From the key as documented (`s3.access-key`) to the field."""

_ADDRESSES = ("s3_endpoint", "azure_account_url")
"""They stand in messages and logs as they are."""

_SWITCHES = {"s3_path_style", "local_durable"}

_FOREIGN_NAMES = {
    "aws_access_key_id": "s3_access_key",
    "aws_access_key": "s3_access_key",
    "aws_secret_access_key": "s3_secret_key",
    "aws_secret_key": "s3_secret_key",
    "aws_session_token": "s3_session_token",
    "aws_region": "s3_region",
    "aws_endpoint": "s3_endpoint",
    "aws_endpoint_url": "s3_endpoint",
    "aws_profile": "s3_profile",
    "aws_force_path_style": "s3_path_style",
    "aws_path_style_access": "s3_path_style",
    "s3_path_style_access": "s3_path_style",
    "s3_endpoint_url": "s3_endpoint",
    "azure_access_key": "azure_account_key",
    "azure_storage_connection_string": "azure_connection_string",
}
_FOREIGN_PREFIX = re.compile(r"^(spark\.)?(indextables|headgate)\.", re.IGNORECASE)


def _squeezed(key: str) -> str:
    """`aws.accessKey`, `aws_access_key` and `AWS-ACCESS-KEY` are one name."""
    return re.sub(r"[^a-z0-9]", "", _FOREIGN_PREFIX.sub("", key).lower())


_FIELDS = {_squeezed(key): name for key, name in (DOCUMENTED_KEYS | _FOREIGN_NAMES).items()}


def _field_of(key: str) -> str:
    found = _FIELDS.get(_squeezed(key))
    if found is not None:
        return found
    known = sorted(DOCUMENTED_KEYS)
    near = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InvalidInput(f"there is no store setting {key!r}.{hint} Known are: {', '.join(known)}")


def _check_no_secret(name: str, address: str) -> None:
    key = next(key for key, known in DOCUMENTED_KEYS.items() if known == name)
    if "@" in address or "?" in address:
        raise InvalidInput(
            f"store setting {key!r} holds more than an address: give what is secret by its own setting, such as "
            f"s3.secret-key and azure.sas-token"
        )


def _switch(key: str, text: str) -> bool:
    match text.strip().lower():
        case "true" | "1" | "yes" | "on":
            return True
        case "false" | "0" | "no" | "off":
            return False
        case _:
            raise InvalidInput(f"store setting {key!r} is {text!r}: write true or false")
