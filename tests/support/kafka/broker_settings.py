"""What a broker of one node for tests is told: its server.properties, as text."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Login:
    """TLS and a name with its password; the key file holds the broker's key and its certificate."""

    key_file: Path
    certificate_file: Path
    user: str = "headgate-tests"
    password: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)

    def settings(self) -> dict[str, str]:
        """What an address must say."""
        return {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": self.user,
            "sasl_plain_password": self.password,
            "ssl_cafile": str(self.certificate_file),
        }


SMALL = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "INTERNAL",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    # Else a broker that was killed is taken for alive when it starts again, and must wait.
    "broker.session.timeout.ms": "1500",
    "broker.heartbeat.interval.ms": "300",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "log.cleaner.dedupe.buffer.size": "16777216",
}


def broker_settings(
    *,
    port: int,
    internal_port: int,
    controller_port: int,
    data: str,
    login: Login | None = None,
    host: str = "127.0.0.1",
    advertised_port: int | None = None,
) -> dict[str, str]:
    """`host` is where the listeners are bound; clients are always told 127.0.0.1, and another port where a proxy stands there."""
    client = "SASL_SSL" if login else "PLAINTEXT"
    settings = SMALL | {
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "listeners": f"CLIENT://{host}:{port},INTERNAL://127.0.0.1:{internal_port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"CLIENT://127.0.0.1:{advertised_port or port},INTERNAL://127.0.0.1:{internal_port}",
        "listener.security.protocol.map": f"CLIENT:{client},INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": data,
    }
    if login is not None:
        settings |= {
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": (
                "org.apache.kafka.common.security.plain.PlainLoginModule required"
                f' user_{login.user}="{login.password}";'
            ),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(login.key_file),
        }
    return settings


def as_properties(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())
