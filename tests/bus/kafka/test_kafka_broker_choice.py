"""Which broker the tests get, and what keeps its jars and its Java honest."""

import hashlib
from pathlib import Path

import pytest

from support.kafka.broker_settings import Login, as_properties, broker_settings
from support.kafka.choice import Way, choose, given_address, with_prefix
from support.kafka.container_broker import container_environment
from support.kafka.jars import LOCK
from support.kafka.java import candidates, major_version
from support.servers.maven_jars import Jar, locked_jars, wrong_jars


def test_a_broker_that_is_given_is_taken_without_asking_for_an_engine() -> None:
    asked: list[str] = []

    def engine_answers() -> bool:
        asked.append("engine")
        return True

    assert (choose({"HEADGATE_TEST_KAFKA": "b:9092"}, engine_answers), asked) == (Way.GIVEN, [])


def test_an_engine_that_answers_is_taken_next() -> None:
    assert choose({"HEADGATE_TEST_KAFKA": ""}, lambda: True) is Way.CONTAINER


def test_without_both_the_broker_is_a_local_process() -> None:
    assert choose({}, lambda: False) is Way.LOCAL


@pytest.mark.parametrize(
    ("value", "address"),
    [("b:9092", "kafka://b:9092"), ("kafka://b:9092?security_protocol=SSL", "kafka://b:9092?security_protocol=SSL")],
)
def test_a_given_broker_is_a_host_or_an_address(value: str, address: str) -> None:
    assert given_address({"HEADGATE_TEST_KAFKA": value}) == address


@pytest.mark.parametrize("value", ["b:port", "kafka://b:9092/prefix", "http://b"])
def test_a_given_broker_that_is_none_is_an_error(value: str) -> None:
    with pytest.raises(ValueError, match="HEADGATE_TEST_KAFKA"):
        given_address({"HEADGATE_TEST_KAFKA": value})


def test_a_prefix_goes_before_the_settings() -> None:
    assert with_prefix("kafka://b:1?a=1", "p", partitions=2) == "kafka://b:1/p?a=1&partitions=2"


def test_the_lock_names_every_jar_with_its_sum() -> None:
    jars = locked_jars(LOCK.read_text())
    assert len(jars) > 40
    assert all(len(jar.coordinate.split(":")) == 3 and len(jar.sha256) == 64 for jar in jars)


def test_a_changed_or_missing_jar_is_found(tmp_path: Path) -> None:
    good, bad, gone = (Jar(f"g:{name}:1", hashlib.sha256(name.encode()).hexdigest()) for name in ("a", "b", "c"))
    (tmp_path / good.file_name).write_text("a")
    (tmp_path / bad.file_name).write_text("something else")
    assert wrong_jars([good, bad, gone], tmp_path) == ["b-1.jar", "c-1.jar"]


@pytest.mark.parametrize(
    ("said", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ("java: not a program", None),
    ],
)
def test_the_version_of_java_is_read_from_what_it_says(said: str, major: int | None) -> None:
    assert major_version(said) == major


def test_java_is_looked_for_in_its_home_first() -> None:
    found = list(candidates({"JAVA_HOME": "/java/home"}, lambda name: f"/bin/{name}"))
    assert found == [Path("/java/home/bin/java"), Path("/bin/java")]


def test_a_container_is_told_settings_by_its_environment() -> None:
    assert container_environment({"log.dirs": "/data"}) == {"KAFKA_LOG_DIRS": "/data"}


def test_clients_are_sent_to_loopback_only() -> None:
    settings = broker_settings(port=1, internal_port=2, controller_port=3, data="d", host="0.0.0.0")
    assert settings["advertised.listeners"] == "CLIENT://127.0.0.1:1,INTERNAL://127.0.0.1:2"


def test_a_secured_broker_asks_for_a_login_over_tls() -> None:
    login = Login(Path("key.pem"), Path("certificate.pem"))
    settings = broker_settings(port=1, internal_port=2, controller_port=3, data="d", login=login)
    assert "CLIENT:SASL_SSL" in as_properties(settings)


def test_a_password_isnt_shown() -> None:
    login = Login(Path("key.pem"), Path("certificate.pem"), password="hush")
    assert "hush" not in repr(login)
