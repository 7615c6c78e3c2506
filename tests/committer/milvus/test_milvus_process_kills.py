"""A real committer process of a Milvus table is killed, kill -9, at each of its steps; another process brings the same end."""

import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from headgate_bus.interface import Bus, Topic
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.events import decode_event
from headgate_schemas.messages.proposals import new_proposal
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from support.committing.doomed_committer import Order, committers
from support.committing.milvus_play import PROPOSED, check_end, lay_foreign_versions
from support.committing.rig import as_message
from support.servers.versitygw import S3Server
from support.stores.faulty import WRITES

IDS = [f"p{number}" for number in range(len(PROPOSED))]
AMBIENT = SystemAmbient()


class Stage:
    """A table and a bus in a file with everything proposed, laid out anew for each death."""

    def __init__(self, folder: Path, table: str, storage: Mapping[str, str]) -> None:
        self._kept, self._used = folder / "kept", folder / "used"
        self._kept.mkdir()
        self.bus = f"sqlite://{self._used}/bus.db"
        self.table, self.storage = table, storage
        self._store = open_store(table, StoreSettings.from_mapping(storage), AMBIENT)
        lay_foreign_versions(self._store)
        self._objects = {found.key: self._store.get(found.key) for found in self._store.list()}
        with closing(open_bus(f"sqlite://{self._kept}/bus.db", AMBIENT)) as bus:
            bus.prepare()
            for identity, (operation, writer) in zip(IDS, PROPOSED, strict=True):
                proposal = new_proposal(
                    operation,
                    proposal_id=identity,
                    table=table,
                    created_ms=AMBIENT.now_ms(),
                    author="test",
                    writer=writer,
                )
                bus.append(Topic.PROPOSALS, [as_message(proposal)])

    def lay_out(self) -> None:
        shutil.rmtree(self._used, ignore_errors=True)
        shutil.copytree(self._kept, self._used)
        self._store.delete([found.key for found in self._store.list() if found.key not in self._objects])
        for key, data in self._objects.items():
            self._store.put(key, data)

    def check(self) -> None:
        with closing(open_bus(self.bus, AMBIENT)) as bus:
            check_end(self._store, list(_announced(bus)), IDS)


def _announced(bus: Bus) -> Iterator[object]:
    reader = bus.reader(Topic.EVENTS, dict.fromkeys(range(bus.partitions(Topic.EVENTS)), 0))
    with closing(reader):
        while records := reader.read(0.0):
            yield from (decode_event(record.body) for record in records)


def _has_an_effect(step: str) -> bool:
    return step == "publish" or step.split()[1] in WRITES


def _kill(stage: Stage, at: Callable[[str], bool]) -> None:
    """Before each step that is chosen, and after it where it has an effect that a process can die after."""
    with committers(stage.table, stage.storage) as processes:
        stage.lay_out()
        whole = processes.run(Order(stage.bus))
        assert whole.exit_code == 0
        stage.check()
        written = {step.split()[2].rpartition("/")[0] for step in whole.steps if step.startswith("store create")}
        assert written - {"_headgate/probe"} == {"_headgate/commits", "_metadata"}
        assert "publish" in whole.steps
        for number, step in enumerate(whole.steps, start=1):
            for after in (False, True) if _has_an_effect(step) else (False,):
                if not at(step):
                    continue
                stage.lay_out()
                killed = processes.run(Order(stage.bus, number, after))
                assert killed.exit_code == -signal.SIGKILL, f"nobody was killed at step {number}, {step}"
                again = processes.run(Order(stage.bus))
                assert again.exit_code == 0, f"after a death at step {number}, {step}"
                stage.check()


def test_a_committer_process_killed_at_each_of_its_steps_loses_and_doubles_nothing(tmp_path: Path) -> None:
    _kill(Stage(tmp_path, str(tmp_path / "table"), {"local.durable": "false"}), lambda step: True)


def test_killed_before_and_after_each_effect_on_an_s3_server_it_loses_and_doubles_nothing(
    tmp_path: Path, versitygw: S3Server, s3_bucket: str
) -> None:
    """Its records, its manifests and what it announces; reads are killed on the disk above."""
    login = {
        "s3.endpoint": versitygw.endpoint,
        "s3.access-key": versitygw.access_key,
        "s3.secret-key": versitygw.secret_key,
    }
    _kill(Stage(tmp_path, f"s3://{s3_bucket}/table", login), _has_an_effect)
