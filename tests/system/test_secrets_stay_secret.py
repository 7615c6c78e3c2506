"""Credentials are in nothing that is printed, logged, announced or stored: looked for after success, refusal and silence."""

import signal
import subprocess
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from azure.core.exceptions import ServiceRequestError

from headgate.process.secrecy import hidden, secrets_of
from headgate.settings.loading import load_settings
from headgate_bus.interface import Topic
from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.store.azure.errors import BlobPlace as AzurePlace
from headgate_table.store.azure.errors import failure
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.processes.cli_processes import a_process, heard, rest_of
from support.processes.command_line import Headgate
from support.servers.processes import free_port
from support.servers.scripted import Answer, scripted_server
from support.servers.versitygw import S3Server

SECRETS = {
    "s3.secret-key": "sesame+S3/secret=1",
    "s3.session-token": "sesame/session+token==2",
    "azure.account-key": "c2VzYW1lLWFjY291bnQta2V5LTM=",
    "azure.sas-token": "sv=2024-01-01&sp=rwdl&sig=sesame%2Bsignature%3D4",
    "azure.bearer-token": "sesame.bearer.5",
}
SASL = "sesame&sasl password#6"
TLS = "sesame-key-7"
SPARK = "sesame-spark-8"
PAGE = "sesame-of-the-page-9"
LOOKED_FOR = "sesame"
ENCODED = ("c2VzYW1l", "signature%3D4", "signature%2B", "sasl%20password", "sasl+password")
"""Some of them in the spellings of addresses."""


def kafka_address(port: int, password: str = SASL) -> str:
    return (
        f"kafka://127.0.0.1:{port}/lake?security_protocol=SASL_PLAINTEXT&sasl_mechanism=PLAIN&sasl_plain_username=app"
        f"&sasl_plain_password={quote(password, safe='')}"
    )


def environment() -> dict[str, str]:
    """All secrets, as deployments set them; whether they are needed or not."""
    given = {f"HEADGATE_STORE_{key.upper().replace('.', '_').replace('-', '_')}": text for key, text in SECRETS.items()}
    spark = {"HEADGATE_WORKER_SPARK_SETTINGS": f"spark.ssl.keyPassword={SPARK}"}
    return {**given, **spark, "HEADGATE_PAGE_TOKEN": PAGE, "HEADGATE_STORE_S3_ACCESS_KEY": "AKIAPUBLIC"}


def leaks(text: str) -> list[str]:
    """The lines in which one of the secrets can be read."""
    return [line for line in text.splitlines() if any(sign in line for sign in (LOOKED_FOR, *ENCODED))]


def leaking_files(folder: Path) -> list[str]:
    """Versions, states, manifests, bus files, logs: whatever lies there, also inside of compressed bodies."""
    signs = [sign.encode() for sign in (LOOKED_FOR, *ENCODED)]
    return [
        str(path) for path in folder.rglob("*") if path.is_file() and any(sign in path.read_bytes() for sign in signs)
    ]


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them in the environment, of subprocesses as well."""
    for name, text in environment().items():
        monkeypatch.setenv(name, text)


@pytest.fixture
def told(headgate: Headgate) -> Headgate:
    """The command, which finds all secrets in its environment."""
    return headgate


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"key={SECRETS['s3.secret-key']}")
    assert leaking_files(tmp_path) == [str(tmp_path / "log")]
    for secret in (*SECRETS.values(), SASL, TLS, SPARK, quote(SASL), "sig=sesame%2B"):
        assert leaks(f"a\nbefore {secret} behind") == [f"before {secret} behind"]


def stopped(process: "subprocess.Popen[bytes]") -> str:
    process.send_signal(signal.SIGTERM)
    return "".join(rest_of(process))


def test_nothing_tells_a_secret_while_all_goes_well(
    told: Headgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committer, worker, producers and readers on this machine: their output, their logs, and every file that they make."""
    bus, table = f"sqlite://{tmp_path}/bus.db", str(tmp_path / "lake/events")
    monkeypatch.setenv("HEADGATE_BUS", bus)
    Table.create(table, "id bigint", configuration={"checkpoint.interval": "1"})
    pq.write_table(pa.table({"id": [1]}), Path(table) / "a.parquet")
    commands = [
        ("propose", table, "append", "--file", "a.parquet", "--debug"),
        ("propose", table, "delete", "--path", "missing.parquet"),
        ("propose", f"{table}-none", "delete", "--path", "missing.parquet"),
        ("events",),
        ("dead-letters", "list"),
        ("doctor", table, "--debug"),
    ]
    with a_process("committer", "--debug") as committer, a_process("worker", "--debug") as worker:
        heard(committer, "committer_started")
        heard(worker, "worker_started")
        ran = [told(*words) for words in commands]
        said = [one.out + one.err for one in ran]
        said += [stopped(committer), stopped(worker)]
    assert [line for text in said for line in leaks(text)] == []
    assert leaking_files(tmp_path) == []
    with closing(open_bus(bus, SystemAmbient())) as opened:
        lengths = {
            topic: sum(opened.extent(topic, number).next_offset for number in range(opened.partitions(topic)))
            for topic in Topic
        }
    assert [topic for topic, length in lengths.items() if length == 0] == [], said
    assert Table.open(table).version > 0


def test_wrong_credentials_of_a_real_store_are_not_told(
    told: Headgate, versitygw: S3Server, s3_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADGATE_STORE_S3_SESSION_TOKEN")
    store = ("--store", f"s3.endpoint={versitygw.endpoint}", "--store", f"s3.access-key={versitygw.access_key}")
    uri, said = f"s3://{s3_bucket}/t", ""
    for words in (("table", "files", uri), ("table", "create", uri, "--schema", "id bigint"), ("doctor", uri)):
        ran = told(*words, *store, "--store", "s3.region=us-east-1", "--debug")
        assert ran.code == 1, ran.err
        said += ran.out + ran.err
    bus = f"sqlite://{tmp_path}/bus.db"
    ran = told("committer", "--bus", bus, "--root", uri, *store, "--store", "s3.region=us-east-1")
    assert ran.code == 1, ran.err
    said += ran.err
    assert "doesn't accept the credentials" in said
    assert leaks(said) == []


def test_a_store_that_is_not_there_is_told_without_secrets(told: Headgate) -> None:
    """One command: the clouds' own clients try again for many seconds before they give up."""
    port = free_port()
    store = ("--store", f"s3.endpoint=http://127.0.0.1:{port}", "--store", "s3.region=eu-west-1")
    ran = told("table", "files", "s3://lake/t", *store, "--debug")
    assert ran.code == 1, ran.err
    assert str(port) in ran.err
    assert leaks(ran.out + ran.err) == []


@pytest.mark.parametrize("key", [SECRETS["azure.account-key"], ""], ids=["account key", "sas token"])
def test_an_azure_that_refuses_the_credentials_is_told_without_them(told: Headgate, key: str) -> None:
    refused = Answer(403, headers={"x-ms-error-code": "AuthenticationFailed"})
    with scripted_server(lambda _: refused) as endpoint:
        settings = (f"azure.account-url={endpoint}/acc", "azure.account-name=acc", f"azure.account-key={key}")
        store = [word for setting in settings for word in ("--store", setting)]
        said = [
            told(*words, *store, "--debug") for words in (("table", "files", "az://lake/t"), ("doctor", "az://lake/t"))
        ]
    assert [ran.code for ran in said] == [1, 1]
    assert "doesn't accept the credentials" in said[0].err
    assert leaks("".join(ran.out + ran.err for ran in said)) == []


def test_the_signature_in_an_address_that_azure_tells_of_is_cut_out() -> None:
    error = ServiceRequestError(
        f"no way to https://a.blob.example/lake?comp=list&{SECRETS['azure.sas-token']}&timeout=1"
    )
    said = str(failure(error, "list", "", AzurePlace("az://lake", "lake", "https://a.blob.example")))
    assert leaks(said) == []
    assert "comp=list&sv=2024-01-01&sp=rwdl&sig=…&timeout=1" in said


def test_a_bus_that_is_not_there_is_told_without_its_password(told: Headgate, tmp_path: Path) -> None:
    bus = kafka_address(free_port())
    said = []
    for words in (("doctor",), ("events",), ("committer", "--root", str(tmp_path)), ("worker",)):
        ran = told(*words, "--bus", bus, "--debug")
        assert ran.code == 1, ran.err
        said.append(ran.out + ran.err)
    assert "no Kafka broker at 127.0.0.1" in said[0]
    assert [line for text in said for line in leaks(text)] == []


@pytest.mark.parametrize(
    "bus",
    [
        "kafka://app:{secret}@broker:9092",
        "kafka://app:{secret}/more@broker:9092",
        "broker:9092/lake?sasl_plain_password={secret}",
        "/lake/bus.db?sasl_plain_password={secret}",
        "bus.db?password={secret}",
        "kafkaa://broker:9092?sasl_plain_password={secret}",
        "kafka://broker:9092?sasl_plain_pasword={secret}",
        "kafka://broker:9092?sasl_plain_password={secret}",
        "kafka://broker:9092?sasl_plain_password={secret}&sasl_plain_password={secret}",
        "kafka://broker:9092?security_protocol=SSL&ssl_password={secret}&ssl_cafile=/none.pem",
    ],
)
def test_an_address_that_cannot_be_understood_is_not_repeated_with_its_password(told: Headgate, bus: str) -> None:
    ran = told("events", "--debug", "--bus", bus.format(secret=TLS))
    assert ran.code == 1
    assert leaks(ran.out + ran.err) == []


@pytest.mark.parametrize(
    "setting",
    ["s3.endpoint=http://app:sesame-9@host:9000", "azure.account-url=https://a.blob.example/?sv=1&sig=sesame-9"],
)
def test_an_address_that_holds_a_secret_is_refused(told: Headgate, setting: str) -> None:
    ran = told("table", "files", "s3://lake/t", "--debug", "--store", setting)
    assert ran.code == 1
    assert "holds more than an address" in ran.err
    assert leaks(ran.out + ran.err) == []


def test_settings_show_no_secret_when_they_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_WORKER_SPARK", f"sc://host:1;token={SPARK}")
    monkeypatch.setenv("HEADGATE_PAGE_TOKEN", PAGE)
    settings = load_settings({"azure.connection-string": f"AccountKey={TLS}"}, {}, None, bus=kafka_address(1))
    address = parse_kafka_address(kafka_address(1))
    for shown in (settings, settings.store, settings.worker, settings.page, address):
        assert leaks(f"{shown!r}\n{shown!s}") == []
    assert secrets_of(settings) >= {SASL, quote(SASL), TLS, SPARK, PAGE, "sesame+signature=4", *SECRETS.values()}


def test_the_net_blots_out_every_spelling() -> None:
    settings = load_settings(SECRETS, {}, None, bus=kafka_address(1))
    secrets = secrets_of(settings)
    for secret in (*SECRETS.values(), SASL):
        for spelt in (secret, quote(secret), quote(secret, safe="")):
            assert leaks(hidden(f"GET /lake?key={spelt}&x", secrets)) == []


def test_what_the_net_does_not_know_is_left_as_it_is() -> None:
    assert hidden("the table events has 3 files", secrets_of(load_settings({"s3.secret-key": "e"}, {}, None))) == (
        "the table events has 3 files"
    )


def said_by(raised: Iterable[HeadgateError]) -> str:
    return "\n".join(map(str, raised))


def test_names_that_mean_nothing_are_told_without_their_values() -> None:
    raised = []
    for store in (
        {"s3.secret-kee": TLS},
        {"s3.secret-key": TLS, "aws.secretKey": SPARK},
        {"local.durable": "maybe", "s3.secret-key": TLS},
    ):
        with pytest.raises(InvalidInput) as caught:
            StoreSettings.from_mapping(store)
        raised.append(caught.value)
    assert leaks(said_by(raised)) == []
