"""Where a run takes place: a broker and an S3 server, or a file and a folder. Each knows which of its parts can be killed."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from headgate_table.store.settings import StoreSettings
from support.kafka.fixtures import new_bus_address
from support.kafka.local_broker import LocalBroker
from support.servers.processes import scratch_folder
from support.servers.versitygw import S3Server
from support.torture.stage.line import Line, line_to
from support.torture.stage.small_disk import SmallDisk, small_disk
from support.torture.stage.store_server import BUCKET, StoreServer


@dataclass(frozen=True, slots=True)
class Server:
    """Something that can be killed and started again."""

    kill: Callable[[], None]
    start: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Scene:
    folder: Path
    bus: str
    root: str
    """Below it lie all tables."""
    root_folder: Path
    """The same, as a folder of this machine."""
    storage: Mapping[str, str] = field(default_factory=dict)
    servers: Mapping[str, Server] = field(default_factory=dict)
    lines: Mapping[str, Line] = field(default_factory=dict)
    """What lies between processes and each server."""
    disk: SmallDisk | None = None
    """Where table and bus lie, if it can be full."""
    frozen_lose_their_place: bool = True
    """Whether others take over from a committer that is frozen, and not dead."""

    @property
    def partitions(self) -> int:
        """Of proposals."""
        return int(parse_qs(urlsplit(self.bus).query)["partitions"][0])

    @property
    def environment(self) -> dict[str, str]:
        """The store's settings, as a process reads them."""
        return {f"HEADGATE_STORE_{name.upper()}": value for name, value in self.storage.items()}

    @property
    def stores(self) -> StoreSettings:
        return StoreSettings.from_mapping(self.storage)


@contextlib.contextmanager
def kafka_and_s3(*, partitions: int = 2, secured: bool = False, **settings: object) -> Iterator[Scene]:
    from support.kafka.certificates import new_login

    with scratch_folder("torture") as folder, contextlib.ExitStack() as stack:
        broker_folder = folder / "broker"
        broker_folder.mkdir()
        to_broker = stack.enter_context(line_to(lambda: broker.port))
        # What it advertises leads through the line, so all that clients learn of it does.
        broker = LocalBroker(broker_folder, new_login(broker_folder) if secured else None, through=to_broker.port)
        stack.callback(broker.stop)
        broker.start()
        store = StoreServer(folder)
        stack.callback(store.kill)
        store.start()
        to_store = stack.enter_context(line_to(lambda: store.port))
        yield Scene(
            folder,
            new_bus_address(broker.address, partitions=partitions, **settings),
            f"s3://{BUCKET}",
            store.bucket,
            _s3_settings(store.server) | {"s3_endpoint": f"http://127.0.0.1:{to_store.port}"},
            {"broker": Server(broker.kill, broker.start), "store": Server(store.kill, store.start)},
            {"broker": to_broker, "store": to_store},
        )


@contextlib.contextmanager
def shared_servers(address: str, server: S3Server, bucket: str, **settings: object) -> Iterator[Scene]:
    """A bus and a bucket of its own on servers that others use as well, so that none of them may be killed."""
    with scratch_folder("scene") as folder:
        yield Scene(
            folder, new_bus_address(address, **settings), f"s3://{bucket}", server.folder / bucket, _s3_settings(server)
        )


@contextlib.contextmanager
def one_machine(*, partitions: int = 2) -> Iterator[Scene]:
    with scratch_folder("torture") as folder, small_disk(folder / "disk") as disk:
        lake = folder / "disk/lake"
        lake.mkdir()
        # A file's lock frees the place when its holder dies, and not before.
        yield Scene(
            folder,
            f"sqlite://{folder}/disk/bus.db?partitions={partitions}",
            str(lake),
            lake,
            disk=disk,
            frozen_lose_their_place=False,
        )


def _s3_settings(server: S3Server) -> dict[str, str]:
    return {"s3_endpoint": server.endpoint, "s3_access_key": server.access_key, "s3_secret_key": server.secret_key}
