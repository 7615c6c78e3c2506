"""The last safeguard of a process's output and logs: secrets of the settings are removed, whoever wrote them.

Headgate itself writes no secret. But libraries put their arguments into exceptions, mostly addresses with signatures,
and `--debug` shows those unchanged.
"""

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO
from urllib.parse import parse_qsl, quote, quote_plus

if TYPE_CHECKING:
    from headgate.settings.loading import Settings

SHOWN = "(secret)"
SHORTEST = 6
"""Shorter ones, such as those of playgrounds, would blot out words that only look like them."""

_OF_STORES = ("s3_secret_key", "s3_session_token", "azure_account_key", "azure_sas_token", "azure_bearer_token")
_PARTS = ("AccountKey", "SharedAccessSignature", "sig")
"""What is secret inside of a connection string and of a signature in an address."""


def secrets_of(settings: "Settings") -> frozenset[str]:
    """Every secret in the settings, in each spelling that it may have in an address."""
    found = set(_plain(settings))
    spelt = {spelling(secret) for secret in found for spelling in (str, quote, quote_plus, _quoted_whole)}
    return frozenset(secret for secret in spelt if len(secret) >= SHORTEST)


def _plain(settings: "Settings") -> Iterator[str]:
    from headgate_bus.kafka.address import SECRETS as SECRETS_OF_A_BUS

    store = settings.store
    for name in _OF_STORES:
        yield from _with_parts(getattr(store, name))
    for part in (store.azure_connection_string or "").split(";"):
        name, _, value = part.partition("=")
        if name in _PARTS:
            yield from _with_parts(value)
    query = (settings.bus or "").partition("?")[2]
    yield from (value for name, value in parse_qsl(query) if name in SECRETS_OF_A_BUS)
    spark = (settings.worker.spark or "").partition(";")[2]
    yield from (value for name, _, value in (part.partition("=") for part in spark.split(";")) if name == "token")
    if settings.page.token is not None:
        yield settings.page.token.text


def _with_parts(secret: str | None) -> Iterator[str]:
    if secret:
        yield secret
        yield from (value for name, value in parse_qsl(secret.removeprefix("?")) if name in _PARTS)


def _quoted_whole(secret: str) -> str:
    return quote(secret, safe="")


def hidden(text: str, secrets: frozenset[str]) -> str:
    """Longest first, because one secret may contain another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, SHOWN)
    return text


class Hiding(io.TextIOBase):
    """A stream that removes all secrets known at the time of writing."""

    def __init__(self, stream: TextIO, secrets: Callable[[], frozenset[str]]) -> None:
        self._stream = stream
        self._secrets = secrets

    def write(self, text: str) -> int:
        self._stream.write(hidden(text, self._secrets()))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read-only here, as with every stream that is open
        return self._stream.encoding
