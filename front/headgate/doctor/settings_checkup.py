"""Finds settings that contradict each other, or that have less effect than they seem to. Pure."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from headgate.doctor.findings import DoctorFinding, Health
from headgate.settings.loading import Settings
from headgate_bus.errors import BusError
from headgate_bus.kafka.address import SCHEME, parse_kafka_address
from headgate_schemas.errors import InvalidInput
from headgate_table.store.addresses import lies_below, table_address
from headgate_table.store.settings import StoreSettings

_AZURE_CREDENTIALS = ("azure_connection_string", "azure_account_key", "azure_sas_token", "azure_bearer_token")
"""In the order in which they are taken."""
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def examine_settings(uri: str | None, settings: Settings) -> Iterator[DoctorFinding]:
    """The findings, or a single one that there are none."""
    found = [*_store(settings.store), *_bus(settings.bus), *_roots(uri, settings)]
    yield from found or [DoctorFinding("settings", Health.OK, "none contradicts another")]


def _store(store: StoreSettings) -> Iterator[DoctorFinding]:
    if (store.s3_access_key is None) != (store.s3_secret_key is None):
        there, missing = ("access", "secret") if store.s3_secret_key is None else ("secret", "access")
        yield _problem(f"s3.{there}-key is set, and s3.{missing}-key is not", f"set s3.{missing}-key, or neither")
    if store.s3_session_token is not None and store.s3_access_key is None:
        yield _problem(
            "s3.session-token is set without the keys that it belongs to", "set s3.access-key and s3.secret-key"
        )
    if store.s3_profile is not None and store.s3_access_key is not None:
        yield _note("s3.profile and s3.access-key are both set: the profile's keys are not used", "keep one of them")
    given = [name for name in _AZURE_CREDENTIALS if getattr(store, name) is not None]
    if len(given) > 1:
        first, *others = [name.replace("_", ".", 1).replace("_", "-") for name in given]
        yield _note(f"{first} is used, and {', '.join(others)} is not", "keep the one that is meant")
    endpoint = urlsplit(store.s3_endpoint or "")
    if endpoint.scheme == "http" and endpoint.hostname not in _THIS_MACHINE:
        yield _note("s3.endpoint is http: what is read and written can be seen on its way", "write https://")
    if not store.local_durable:
        yield _note("local.durable is false: a power cut may lose what was acknowledged", "leave it out")


def _bus(address: str | None) -> Iterator[DoctorFinding]:
    if address is None or not address.lower().startswith(SCHEME):
        return
    try:
        parsed = parse_kafka_address(address)
    except BusError:
        return  # reported when the bus is opened
    outside = [server for server in parsed.servers if server.rpartition(":")[0].strip("[]") not in _THIS_MACHINE]
    if outside and parsed.client.get("security_protocol") == "SASL_PLAINTEXT":
        yield _note(
            "security_protocol=SASL_PLAINTEXT: proposals, and with PLAIN the password, can be seen on their way",
            "give the brokers a certificate, and write security_protocol=SASL_SSL",
        )
    if parsed.replication == 1 and len(parsed.servers) > 1:
        yield _note(
            "the bus address names several brokers and no replication: topics that are made lie on one of them alone",
            "write ?replication=3 before the topics are made",
        )


def _roots(uri: str | None, settings: Settings) -> Iterator[DoctorFinding]:
    committer, worker = settings.committer.roots, settings.worker.roots
    if settings.bus is not None and not committer:
        yield _note("no roots: a committer serves every table that its credentials reach", "set HEADGATE_ROOTS")
    if set(committer) != set(worker):
        yield _note(
            f"committers serve {_shown(committer)}, and workers {_shown(worker)}: tables of one of them only get no upkeep, "
            "or upkeep that is refused",
            "set HEADGATE_ROOTS for both",
        )
    if uri is None or not committer:
        return
    try:
        address, roots = table_address(uri), [table_address(root) for root in committer]
    except InvalidInput:
        return  # reported when the place is opened
    if not lies_below(address, roots):
        yield _problem(
            f"{address} lies outside of the roots {', '.join(roots)}: a committer with these settings refuses it",
            "add its root to HEADGATE_ROOTS",
        )


def _shown(roots: tuple[str, ...]) -> str:
    return ", ".join(roots) or "everything"


def _problem(found: str, mend: str) -> DoctorFinding:
    return DoctorFinding("settings", Health.PROBLEM, found, mend)


def _note(found: str, mend: str) -> DoctorFinding:
    return DoctorFinding("settings", Health.NOTE, found, mend)
