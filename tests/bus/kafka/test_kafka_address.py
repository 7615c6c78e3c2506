"""Addresses of Kafka buses: what they mean, and what is said about a wrong one."""

import pytest

from headgate_bus.errors import BusError
from headgate_bus.interface import Topic
from headgate_bus.kafka.address import parse_kafka_address

SECURED = (
    "kafka://b:9093/p?security_protocol=SASL_SSL&sasl_mechanism=PLAIN&sasl_plain_username=u&sasl_plain_password=hush"
)


def test_servers_and_prefix_are_read() -> None:
    address = parse_kafka_address("kafka://one:9092,two:19092/lake")
    assert (address.servers, address.prefix) == (("one:9092", "two:19092"), "lake")


def test_a_server_without_a_port_gets_kafkas_own() -> None:
    assert parse_kafka_address("kafka://one").servers == ("one:9092",)


def test_an_ipv6_server_keeps_its_brackets() -> None:
    assert parse_kafka_address("kafka://[::1]:9092,[::2]").servers == ("[::1]:9092", "[::2]:9092")


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("kafka://b", "headgate.dead-letters"),
        ("kafka://b/", "headgate.dead-letters"),
        ("kafka://b/x", "x.dead-letters"),
    ],
)
def test_the_prefix_begins_the_names_of_topics(address: str, name: str) -> None:
    assert parse_kafka_address(address).topic(Topic.DEAD_LETTERS) == name


def test_an_address_that_is_shown_can_be_used_again() -> None:
    text = "kafka://b:9092/p?security_protocol=SSL&ssl_cafile=/etc/ca.pem&partitions=3"
    assert str(parse_kafka_address(text)) == text


def test_what_is_default_is_not_shown() -> None:
    assert str(parse_kafka_address("kafka://b/headgate?partitions=1&security_protocol=plaintext")) == "kafka://b:9092"


@pytest.mark.parametrize("shown", [str, repr])
def test_a_password_is_never_shown(shown: "type[str]") -> None:
    assert "hush" not in shown(parse_kafka_address(SECURED))


def test_a_password_reaches_the_client() -> None:
    assert parse_kafka_address(SECURED).client_settings()["sasl_plain_password"] == "hush"


def test_a_password_with_signs_is_written_with_percents() -> None:
    address = parse_kafka_address(SECURED.replace("hush", "a%26b%2Fc"))
    assert address.client_settings()["sasl_plain_password"] == "a&b/c"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sqlite:///x", "begins with kafka://"),
        ("kafka://", "is no host and port"),
        ("kafka://a,,b", "is no host and port"),
        ("kafka://a:port", "is no port"),
        ("kafka://a:70000", "is no port"),
        ("kafka://user:hush@a:9092", "no name and password before the hosts"),
        ("kafka://a/with/slash", "can't begin the names of topics"),
        ("kafka://a/p?partition=2", "did you mean partitions?"),
        ("kafka://a/p?security.protocol=SSL", "did you mean security_protocol?"),
        ("kafka://a/p?zzz=1", "there are event_partitions, max_poll_interval_ms"),
        ("kafka://a/p?partitions=0", "no whole number from 1 to"),
        ("kafka://a/p?partitions=two", "no whole number from 1 to"),
        ("kafka://a/p?partitions=2&partitions=3", "gives partitions twice"),
        ("kafka://a/p?ssl_cafile=", "no value for ssl_cafile"),
        ("kafka://a/p?security_protocol=TLS", "none of PLAINTEXT, SSL"),
        ("kafka://a/p?ssl_cafile=x", "needs security_protocol=SSL or SASL_SSL"),
        ("kafka://a/p?sasl_mechanism=PLAIN", "needs security_protocol=SASL_SSL"),
        ("kafka://a/p?security_protocol=SASL_SSL&sasl_mechanism=PLAIN", "needs sasl_plain_username as well"),
        (SECURED.replace("PLAIN&", "GSSAPI&"), "none of PLAIN, SCRAM-SHA-256"),
    ],
)
def test_a_wrong_address_is_explained(address: str, said: str) -> None:
    with pytest.raises(BusError) as caught:
        parse_kafka_address(address)
    assert said in str(caught.value)


@pytest.mark.parametrize("address", ["kafka://user:hush@a", SECURED + "&zzz=1", SECURED + "&sasl_plain_password=hush"])
def test_an_error_shows_no_secret(address: str) -> None:
    with pytest.raises(BusError) as caught:
        parse_kafka_address(address)
    assert "hush" not in str(caught.value)
