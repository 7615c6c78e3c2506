"""What befalls the logs of a broker: the newest records are lost, as with a disk that lied, or the topics are made anew."""

import struct
from contextlib import closing
from pathlib import Path

from kafka import KafkaAdminClient

from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from support.kafka.local_broker import LocalBroker
from support.processes.waiting import wait_until

_BATCH = struct.Struct(">qi")
"""The base offset of a batch, and how many bytes follow."""
_DERIVED = (".index", ".timeindex", ".snapshot", ".txnindex")
"""Files that the broker makes from the log."""


def cut_log(broker: LocalBroker, topic: str, offset: int, partition: int = 0) -> None:
    """Let the log end before the batch that begins at this offset. It lies in one segment.

    The broker was killed before, so it looks through its files when it starts again.
    """
    folder = broker.data / f"{topic}-{partition}"
    [segment] = folder.glob("*.log")
    data = segment.read_bytes()
    at = _place_of(data, offset)
    assert at < len(data), f"{segment} ends before offset {offset}"
    with segment.open("r+b") as file:
        file.truncate(at)
    for derived in folder.iterdir():
        if derived.suffix in _DERIVED:
            derived.unlink()
    _cut_epochs(folder, offset)


def make_anew(bus: str) -> None:
    """All topics of the bus, as when somebody deletes those of the wrong cluster."""
    servers, prefix = bus.removeprefix("kafka://").partition("?")[0].split("/")
    admin = KafkaAdminClient(bootstrap_servers=[servers])
    names = [name for name in admin.list_topics() if name.startswith(f"{prefix}.")]
    admin.delete_topics(names)
    wait_until(lambda: not {*names} & {*admin.list_topics()}, "the topics are gone")
    admin.close()
    with closing(open_bus(bus, SystemAmbient())) as opened:
        opened.prepare()


def _place_of(data: bytes, offset: int) -> int:
    at = 0
    while at + _BATCH.size <= len(data):
        base, length = _BATCH.unpack_from(data, at)
        if base >= offset:
            assert base == offset, f"offset {offset} lies within the batch before {base}"
            return at
        at += _BATCH.size + length
    return len(data)


def _cut_epochs(folder: Path, offset: int) -> None:
    """Forget the terms of leaders that began later, as a broker does that never had those records."""
    checkpoint = folder / "leader-epoch-checkpoint"
    if not checkpoint.exists():
        return
    version, _, *entries = checkpoint.read_text().split("\n")
    kept = [entry for entry in entries if entry and int(entry.split()[1]) < offset]
    checkpoint.write_text("\n".join([version, str(len(kept)), *kept, ""]))
