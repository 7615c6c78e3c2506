"""The services of compose.yaml at work: the same commands and settings, as processes against a real broker and store."""

import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from kafka import KafkaAdminClient

from headgate_producer.producer import Producer
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.compose.parsing import ComposeFile, parse
from support.compose.processes import (
    Swaps,
    run_to_end,
    running_broker_of,
    running_service,
    running_store,
    set_up_store,
    wait_until_said,
)
from support.servers.processes import free_port
from support.tables import COLUMNS, add_file

ROOT = Path(__file__).parents[2]
SECRET = "a-secret-of-the-tests"
TABLE = "s3://lake/example"
WORN = "s3://lake/worn"
PATIENCE_S = 60.0
ENDPOINT = "http://store:7070"
LISTENS_AT = "8080"


@pytest.fixture(scope="module")
def file() -> ComposeFile:
    return parse(ROOT / "compose.yaml", {"HEADGATE_STORE_S3_SECRET_KEY": SECRET})


@pytest.fixture(scope="module")
def brokers(file: ComposeFile, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with running_broker_of(file.services["kafka"], tmp_path_factory.mktemp("kafka")) as found:
        yield found


@pytest.fixture(scope="module")
def store_port(file: ComposeFile, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    data = tmp_path_factory.mktemp("store") / "data"
    data.mkdir()
    set_up_store(file.services["store-setup"], str(file.services["store"].body["user"]), data)
    with running_store(file.services["store"], data) as port:
        yield port


@pytest.fixture(scope="module")
def swaps(brokers: dict[str, str], store_port: int) -> Swaps:
    return Swaps(brokers | {ENDPOINT: f"http://127.0.0.1:{store_port}", "store:7070": f"127.0.0.1:{store_port}"})


@pytest.fixture(scope="module")
def settings(file: ComposeFile, swaps: Swaps) -> StoreSettings:
    """The store as the committer is told of it."""
    told = swaps.environment(file.services["committer"])
    return StoreSettings(
        s3_endpoint=told["HEADGATE_STORE_S3_ENDPOINT"],
        s3_region=told["HEADGATE_STORE_S3_REGION"],
        s3_access_key=told["HEADGATE_STORE_S3_ACCESS_KEY"],
        s3_secret_key=told["HEADGATE_STORE_S3_SECRET_KEY"],
    )


@pytest.fixture(scope="module")
def committer_swaps(swaps: Swaps) -> Swaps:
    return swaps.listening(LISTENS_AT, free_port())


@pytest.fixture
def committer_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "committer"
    folder.mkdir()
    return folder


@pytest.fixture
def committer(file: ComposeFile, committer_swaps: Swaps, committer_folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    service = file.services["committer"]
    with running_service(service, ("headgate", *service.command), committer_swaps, committer_folder) as process:
        yield process


def test_the_broker_is_the_cluster_that_the_file_names(file: ComposeFile, brokers: dict[str, str]) -> None:
    admin = KafkaAdminClient(bootstrap_servers=brokers["kafka:19092"])
    assert admin.describe_cluster()["cluster_id"] == file.services["kafka"].environment["CLUSTER_ID"]
    admin.close()


def test_the_broker_listens_to_containers_and_to_this_machine(brokers: dict[str, str]) -> None:
    assert set(brokers) == {"kafka:19092", "localhost:9092"}


def test_the_health_check_of_the_broker_asks_a_listener_that_it_has(file: ComposeFile) -> None:
    asked = file.services["kafka"].health_command[-1]
    assert f"INSIDE://:{asked.removeprefix('localhost:')}" in file.services["kafka"].environment["KAFKA_LISTENERS"]


def test_the_set_up_of_the_store_made_the_bucket(settings: StoreSettings, store_port: int) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint,
        region_name=settings.s3_region,
        aws_access_key_id=settings.s3_access_key,
        aws_secret_access_key=settings.s3_secret_key,
    )
    assert [bucket["Name"] for bucket in client.list_buckets()["Buckets"]] == ["lake"]
    client.close()


def test_the_health_check_of_the_store_is_answered(file: ComposeFile, store_port: int) -> None:
    url = file.services["store"].health_command[-1].replace(":7070", f":{store_port}")
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.status == 200


def test_the_example_commits_and_the_committer_is_healthy(
    file: ComposeFile,
    swaps: Swaps,
    settings: StoreSettings,
    committer: "subprocess.Popen[bytes]",
    committer_folder: Path,
    committer_swaps: Swaps,
    tmp_path: Path,
) -> None:
    example, service = file.services["example"], file.services["committer"]
    [mount] = example.body["volumes"]
    mounted = Swaps({mount["target"]: mount["source"]})
    command = (*map(mounted, example.entrypoint), *example.command)

    done = run_to_end(example, command, swaps, tmp_path)
    assert (done.code, "committed day=" in done.said) == (0, True), done.said
    assert Table.open(TABLE, settings).snapshot().num_files == 1

    again = run_to_end(example, command, swaps, tmp_path)
    assert (again.code, f"{TABLE} is there already" in again.said) == (0, True), again.said
    assert Table.open(TABLE, settings).snapshot().num_files == 2

    healthy = run_to_end(service, service.health_command, committer_swaps, tmp_path)
    assert (healthy.code, healthy.said) == (0, "ready\n")

    # Its file system is read-only.
    assert list(committer_folder.iterdir()) == []


def test_the_committer_ends_with_0_when_it_is_told_to(
    file: ComposeFile, swaps: Swaps, committer: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    log = tmp_path / "committer.log"
    wait_until_said(log, "partition_taken", committer)
    committer.terminate()
    assert committer.wait(60) == 0
    assert "committer_stopped" in log.read_text()


def test_the_worker_looks_after_what_the_committer_announces_and_ends_with_0_when_it_is_told_to(
    file: ComposeFile,
    swaps: Swaps,
    settings: StoreSettings,
    committer: "subprocess.Popen[bytes]",
    tmp_path: Path,
) -> None:
    """By its own limits it takes minutes to look again; here it is as eager as can be."""
    service, told = file.services["worker"], swaps.environment(file.services["committer"])
    worker_swaps = swaps.listening(LISTENS_AT, free_port())
    folder = tmp_path / "worker"
    folder.mkdir()
    eager = ("--limit", "sweep-ms=500", "--limit", "compact-cooldown-ms=0", "--limit", "compact-delay-ms=0")
    with running_service(service, ("headgate", *service.command, *eager), worker_swaps, folder) as worker:
        log = tmp_path / "worker.log"
        wait_until_said(log, "worker_started", worker)
        with Producer(told["HEADGATE_BUS"], WORN, storage=settings) as producer:
            producer.create(COLUMNS, configuration={"headgate.checkpoint.interval": "1"}).wait(PATIENCE_S)
            producer.append([add_file("a"), add_file("b")]).wait(PATIENCE_S)
            producer.delete(paths=[add_file("a").path]).wait(PATIENCE_S)
        wait_until_said(log, "without 1 tombstones", worker)

        healthy = run_to_end(service, service.health_command, worker_swaps, tmp_path)
        assert (healthy.code, healthy.said) == (0, "ready\n")

        worker.terminate()
        assert worker.wait(60) == 0
    assert "worker_stopped" in log.read_text()
    assert "CompactState" in [entry.operation for entry in Table.open(WORN, settings).history()]
    # Its file system is read-only.
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["committer", "worker"])
def test_without_a_process_the_health_check_fails(file: ComposeFile, tmp_path: Path, name: str) -> None:
    asked = run_to_end(
        file.services[name], file.services[name].health_command, Swaps({}).listening(LISTENS_AT, 1), tmp_path
    )
    assert (asked.code, "doesn't answer" in asked.said) == (1, True)
