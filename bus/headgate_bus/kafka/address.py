"""Addresses of Kafka buses, `kafka://host:port,host:port/prefix?setting=value`: parsed and shown. Opens nothing."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from headgate_bus.errors import BusError
from headgate_bus.interface import EVENT_PARTITIONS, Topic

SCHEME = "kafka://"
DEFAULT_PREFIX = "headgate"
DEFAULT_PORT = 9092
MAX_PREFIX_CHARACTERS = 200
"""A topic's name may have 249 characters in all."""
MAX_PARTITIONS = 1_000

TEXT_SETTINGS = {
    "security_protocol": "How brokers are spoken to: PLAINTEXT (as without it), SSL, SASL_PLAINTEXT or SASL_SSL",
    "sasl_mechanism": "How a login is proved: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
    "sasl_plain_username": "The name of the login, whatever the mechanism",
    "sasl_plain_password": "Its password; never shown",
    "ssl_cafile": "A file with the certificates that may vouch for brokers, in PEM; the system's own without it",
    "ssl_certfile": "A file with the client's own certificate, in PEM, for brokers that ask for one",
    "ssl_keyfile": "A file with its key, in PEM",
    "ssl_password": "What opens that key; never shown",
}
"""Handed to the Kafka client by the same names, and what each means."""
SECRETS = ("sasl_plain_password", "ssl_password")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PREFIX_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@dataclass(frozen=True, slots=True)
class Whole:
    """A setting with a whole number, and its meaning."""

    default: int
    low: int
    high: int
    means: str


NUMBERS = {
    "partitions": Whole(
        1,
        1,
        MAX_PARTITIONS,
        "Partitions of the proposals topic. Fixed when it is made: a table's proposals must stay in one",
    ),
    "event_partitions": Whole(
        EVENT_PARTITIONS,
        1,
        MAX_PARTITIONS,
        "Partitions of the events topic: as many followers of one group can share the tables. Fixed when it is made",
    ),
    "replication": Whole(1, 1, 16, "Copies of each topic. Fixed when it is made"),
    "session_timeout_ms": Whole(
        6_000, 1_000, 300_000, "How long a committer may be silent before its place is given to another"
    ),
    "max_poll_interval_ms": Whole(
        300_000,
        1_000,
        3_600_000,
        "How long a committer may go without asking for proposals, though it lives, before it loses its place",
    ),
}
ALL_SETTINGS = (*TEXT_SETTINGS, *NUMBERS)


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    servers: tuple[str, ...]
    prefix: str = DEFAULT_PREFIX
    client: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of the Kafka client; some are secret."""
    partitions: int = NUMBERS["partitions"].default
    event_partitions: int = NUMBERS["event_partitions"].default
    replication: int = NUMBERS["replication"].default
    session_timeout_ms: int = NUMBERS["session_timeout_ms"].default
    max_poll_interval_ms: int = NUMBERS["max_poll_interval_ms"].default

    def __str__(self) -> str:
        """The address without secrets."""
        shown = {name: value for name, value in self.client.items() if name not in SECRETS}
        shown |= {name: str(getattr(self, name)) for name in NUMBERS if getattr(self, name) != NUMBERS[name].default}
        query = f"?{urlencode(shown, quote_via=quote, safe='/')}" if shown else ""
        prefix = "" if self.prefix == DEFAULT_PREFIX else f"/{self.prefix}"
        return f"{SCHEME}{','.join(self.servers)}{prefix}{query}"

    def topic(self, topic: Topic) -> str:
        return f"{self.prefix}.{topic.value}"

    def group(self, group: str) -> str:
        """The group's name on the cluster, with the bus's prefix: buses that share a cluster don't share groups."""
        return f"{self.prefix}.{group}"

    def client_settings(self) -> dict[str, Any]:
        return {"bootstrap_servers": list(self.servers), **self.client}


def parse_kafka_address(address: str) -> KafkaAddress:
    """Raises `BusError`, which names the fault and never shows a secret."""
    if not address.startswith(SCHEME):
        raise BusError(f"an address of a Kafka bus begins with {SCHEME}, such as kafka://localhost:9092")
    rest, _, query = address.removeprefix(SCHEME).partition("?")
    authority, _, path = rest.partition("/")
    if "@" in rest:  # A password may hold a slash, and the text before it would look like the hosts.
        raise BusError(
            "a Kafka address holds no name and password before the hosts; write them as"
            " ?security_protocol=SASL_SSL&sasl_mechanism=PLAIN&sasl_plain_username=…&sasl_plain_password=…"
        )
    client, numbers = _settings(query)
    return KafkaAddress(_servers(authority), _prefix(path), client, **numbers)


def _servers(authority: str) -> tuple[str, ...]:
    servers = []
    for server in authority.split(","):
        host, separator, port = server.rpartition(":")
        if not separator or server.endswith("]"):
            host, port = server, str(DEFAULT_PORT)
        if not host or any(sign.isspace() for sign in host):
            raise BusError(f"{server!r} is no host and port of a Kafka broker; write kafka://host:port,host:port")
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
            raise BusError(f"{server!r} ends with {port!r}, which is no port; write kafka://host:port,host:port")
        servers.append(f"{host}:{int(port)}")
    return tuple(servers)


def _prefix(path: str) -> str:
    prefix = unquote(path).rstrip("/")
    if not prefix:
        return DEFAULT_PREFIX
    if not PREFIX_CHARACTERS.issuperset(prefix) or len(prefix) > MAX_PREFIX_CHARACTERS:
        raise BusError(
            f"{prefix[:300]!r} can't begin the names of topics; use at most {MAX_PREFIX_CHARACTERS} letters, digits,"
            " dots, dashes and underscores"
        )
    return prefix


def _settings(query: str) -> tuple[dict[str, str], dict[str, int]]:
    client: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in client or name in numbers:
            raise BusError(f"the Kafka address gives {name} twice; give it once")
        if name in NUMBERS:
            numbers[name] = _number(name, value)
        elif name in TEXT_SETTINGS:
            if not value:
                raise BusError(f"the Kafka address gives no value for {name}; give one, or leave it out")
            client[name] = value
        else:
            raise BusError(f"{name!r} is no setting of a Kafka address; {_hint(name)}")
    _check_security(client)
    return client, numbers


def _number(name: str, value: str) -> int:
    rule = NUMBERS[name]
    if not (value.isascii() and value.isdigit() and rule.low <= int(value) <= rule.high):
        raise BusError(f"{name}={value[:50]!r} in the Kafka address is no whole number from {rule.low} to {rule.high}")
    return int(value)


def _hint(name: str) -> str:
    near = difflib.get_close_matches(name.lower().replace(".", "_").replace("-", "_"), ALL_SETTINGS, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(ALL_SETTINGS))}"


def _check_security(client: dict[str, str]) -> None:
    protocol = client.setdefault("security_protocol", "PLAINTEXT").upper()
    client["security_protocol"] = protocol
    if protocol not in PROTOCOLS:
        raise BusError(f"security_protocol={protocol!r} in the Kafka address is none of {', '.join(PROTOCOLS)}")
    if protocol == "PLAINTEXT":
        del client["security_protocol"]
    given = sorted(name for name in client if name.startswith("ssl_"))
    if given and not protocol.endswith("SSL"):
        raise BusError(f"{given[0]} in the Kafka address needs security_protocol=SSL or SASL_SSL; it is {protocol}")
    given = sorted(name for name in client if name.startswith("sasl_"))
    if not protocol.startswith("SASL_"):
        if given:
            raise BusError(f"{given[0]} in the Kafka address needs security_protocol=SASL_SSL; it is {protocol}")
        return
    for name in ("sasl_mechanism", "sasl_plain_username", "sasl_plain_password"):
        if name not in client:
            raise BusError(f"security_protocol={protocol} in the Kafka address needs {name} as well")
    client["sasl_mechanism"] = client["sasl_mechanism"].upper()
    if client["sasl_mechanism"] not in MECHANISMS:
        raise BusError(f"sasl_mechanism in the Kafka address is none of {', '.join(MECHANISMS)}")
