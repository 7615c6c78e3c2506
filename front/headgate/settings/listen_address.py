"""The address at which a process listens for HTTP: a host and a port, and whether other machines can reach it."""

import re
from dataclasses import dataclass
from ipaddress import ip_address

from headgate_schemas.errors import InvalidInput

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    host: str
    """An address, or a name that is looked up when it is listened at."""
    port: int
    """0 for one that is free."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it. Names don't count as this machine, because they may resolve to
        anything.
        """
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The URL for a browser on this machine. The wildcard address is replaced by a real one."""
        host = {"0.0.0.0": _HERE, "::": "::1"}.get(self.host, self.host)
        return f"http://{_in_brackets(host)}:{self.port}"

    def __str__(self) -> str:
        return f"{_in_brackets(self.host)}:{self.port}"


def listen_address(text: str) -> ListenAddress:
    """`127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, `0.0.0.0:8080`, or `8080` alone for this machine only.

    Raises `InvalidInput` for an invalid address.
    """
    host, colon, port = text.strip().rpartition(":")
    if not colon:
        host = _HERE
    elif host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if not _is_address(host) or ":" not in host:
            raise _wrong(text)
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 1 << 16):
        raise _wrong(text)
    if not (_is_address(host) if ":" in host else _NAME.fullmatch(host)) or (":" in host and "[" not in text):
        raise _wrong(text)
    return ListenAddress(_HERE if host.lower() == "localhost" else host, int(port))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _wrong(text: str) -> InvalidInput:
    return InvalidInput(
        f"{text[:100]!r} is no address to listen at: write host:port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080;"
        " port 0 takes one that is free"
    )
