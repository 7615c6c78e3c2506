"""compose.yaml, read by the parser of Docker Compose: it is valid, and every service is as a careful operator wants it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headgate.settings.worker_settings import ROLES
from headgate_committer.limits import CommitterLimits
from headgate_worker.limits import WorkerLimits
from support.compose.parsing import ComposeError, ComposeFile, Service, parse
from support.kafka import jars
from support.servers import versitygw

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "compose.yaml"
SECRET = "HEADGATE_STORE_S3_SECRET_KEY"
ONE_SHOT = {"store-setup", "example"}
AS_ROOT = {"store-setup"}
"""Gives a volume, which is root's at first, to the user of the store."""


@pytest.fixture(scope="module")
def file() -> ComposeFile:
    return parse(COMPOSE, {SECRET: "a-secret"})


@pytest.fixture(scope="module")
def served(file: ComposeFile) -> list[Service]:
    """The services that stay."""
    return [service for name, service in file.services.items() if name not in ONE_SHOT]


def mounts(file: ComposeFile) -> list[Mapping[str, Any]]:
    return [mount for service in file.services.values() for mount in service.body.get("volumes", ())]


def test_without_the_secret_the_file_says_which_variable_is_missing() -> None:
    with pytest.raises(ComposeError, match=rf"{SECRET} is missing a value: put a long random text into \.env"):
        parse(COMPOSE, {})


def test_the_parser_refuses_what_compose_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text("services:\n  a:\n    image: b\n    restarts: always\n")
    with pytest.raises(ComposeError, match="restarts"):
        parse(tmp_path / "compose.yaml", {})


def test_the_parser_refuses_a_service_that_waits_for_nobody(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text("services:\n  a:\n    image: b\n    depends_on: [c]\n")
    with pytest.raises(ComposeError, match=r"depends on undefined service"):
        parse(tmp_path / "compose.yaml", {})


def test_broker_store_committer_and_worker_are_there(file: ComposeFile) -> None:
    assert {"kafka", "store", "store-setup", "committer", "worker"} <= set(file.services)


def test_the_worker_is_told_of_the_same_bus_store_and_roots_as_the_committer(file: ComposeFile) -> None:
    own = {"HEADGATE_WORKER_ROLES"}
    committer, worker = (file.services[name].environment for name in ("committer", "worker"))
    assert {name: value for name, value in worker.items() if name not in own} == committer


def test_the_worker_does_everything_unless_told_otherwise(file: ComposeFile) -> None:
    assert file.services["worker"].environment["HEADGATE_WORKER_ROLES"].split(",") == list(ROLES)


@pytest.mark.parametrize(
    ("name", "drain_ms"), [("committer", CommitterLimits().drain_ms), ("worker", WorkerLimits().drain_ms)]
)
def test_there_is_time_to_end_what_was_begun(file: ComposeFile, name: str, drain_ms: int) -> None:
    """Compose kills who takes longer."""
    grace = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?", file.services[name].body["stop_grace_period"])
    assert grace is not None
    assert int(grace[1] or 0) * 60 + int(grace[2] or 0) >= 2 * drain_ms / 1000


def test_nobody_waits_for_a_worker_and_it_waits_for_no_committer(file: ComposeFile) -> None:
    assert "committer" not in file.services["worker"].depends_on
    assert [service.name for service in file.services.values() if "worker" in service.depends_on] == []


def test_every_image_of_others_has_an_exact_version(file: ComposeFile) -> None:
    foreign = {name: service.image for name, service in file.services.items() if "build" not in service.body}
    assert [name for name, image in foreign.items() if not re.search(r":v?\d+\.\d+\.\d+$", image)] == []


def test_the_store_is_the_version_that_the_tests_run_against(file: ComposeFile) -> None:
    assert file.services["store"].image == f"versity/versitygw:v{versitygw.VERSION}"
    assert file.services["store-setup"].image == file.services["store"].image


def test_the_broker_is_the_version_that_the_tests_run_against(file: ComposeFile) -> None:
    assert file.services["kafka"].image == f"apache/kafka:{jars.VERSION}"


def test_nobody_but_the_set_up_runs_as_root(file: ComposeFile) -> None:
    users = {
        name: service.body.get("user", "the image's")
        for name, service in file.services.items()
        if name not in AS_ROOT and "build" not in service.body
    }
    assert [name for name, user in users.items() if user in ("the image's", "root") or str(user).startswith("0")] == []


def test_nobody_gets_privileges_later(file: ComposeFile) -> None:
    assert [
        name
        for name, service in file.services.items()
        if "no-new-privileges:true" not in service.body.get("security_opt", ())
    ] == []


def test_everyone_who_stays_comes_back_after_a_crash(served: list[Service]) -> None:
    assert {service.name: service.body["restart"] for service in served} == {
        service.name: "unless-stopped" for service in served
    }


def test_what_is_done_once_is_not_started_again(file: ComposeFile) -> None:
    once = [service for name, service in file.services.items() if name in ONE_SHOT]
    assert [service.name for service in once if service.body.get("restart") != "no"] == []


def test_everyone_who_stays_has_a_health_check(served: list[Service]) -> None:
    assert [service.name for service in served if not service.health_command] == []


@pytest.mark.parametrize("name", ["committer", "worker"])
def test_a_health_check_asks_where_its_process_listens_whether_it_is_ready(file: ComposeFile, name: str) -> None:
    service = file.services[name]
    host, _, port = service.environment["HEADGATE_LISTEN"].rpartition(":")
    assert (host, service.health_command) == ("0.0.0.0", ("headgate", "health", f"http://127.0.0.1:{port}/readyz"))


def test_where_processes_tell_how_they_are_is_open_to_containers_only(file: ComposeFile) -> None:
    assert [name for name in ("committer", "worker") if file.services[name].body.get("ports")] == []


def test_everyone_has_a_bound_of_memory(file: ComposeFile) -> None:
    assert [name for name, service in file.services.items() if not int(service.body.get("mem_limit", 0))] == []


def test_everyone_waits_until_the_others_are_ready_and_not_merely_started(file: ComposeFile) -> None:
    conditions = {condition for service in file.services.values() for condition in service.depends_on.values()}
    assert conditions == {"service_healthy", "service_completed_successfully"}


def test_data_lies_in_named_volumes(file: ComposeFile) -> None:
    assert {mount["source"] for mount in mounts(file) if mount["type"] == "volume"} == file.volumes


def test_what_comes_from_the_project_is_there_and_only_read(file: ComposeFile) -> None:
    binds = [mount for mount in mounts(file) if mount["type"] == "bind"]
    assert [mount["source"] for mount in binds if not Path(mount["source"]).is_file()] == []
    assert [mount["source"] for mount in binds if not mount.get("read_only")] == []


def test_ports_are_open_to_this_machine_only(file: ComposeFile) -> None:
    hosts = {port.get("host_ip") for service in file.services.values() for port in service.body.get("ports", ())}
    assert hosts == {"127.0.0.1"}


def test_another_port_of_kafka_is_also_the_one_that_it_tells_its_clients() -> None:
    kafka = parse(COMPOSE, {SECRET: "a-secret", "HEADGATE_KAFKA_PORT": "39092"}).services["kafka"]
    assert [port["published"] for port in kafka.body["ports"]] == ["39092"]
    assert "OUTSIDE://localhost:39092" in kafka.environment["KAFKA_ADVERTISED_LISTENERS"]


def test_no_secret_is_written_down(file: ComposeFile) -> None:
    assert "a-secret" not in COMPOSE.read_text()
    assert file.services["committer"].environment[SECRET] == file.services["store"].environment["ROOT_SECRET_KEY"]


def test_the_examples_start_only_when_asked_for(file: ComposeFile) -> None:
    assert {name: service.profiles for name, service in file.services.items() if service.profiles} == {
        "example": ("examples",)
    }


def test_every_variable_is_documented() -> None:
    used = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    page = (ROOT / "docs/deployment.md").read_text()
    documented = {name for row in re.findall(r"^\| (`HEADGATE_[^|]*)\|", page, re.MULTILINE) for name in row.split("`")}
    assert used == {name for name in documented if name.startswith("HEADGATE_")}


def test_every_service_is_documented(file: ComposeFile) -> None:
    page = (ROOT / "docs/deployment.md").read_text()
    assert set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == set(file.services)
