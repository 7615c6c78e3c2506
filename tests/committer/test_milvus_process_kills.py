"""A real committer process of a Milvus table is killed, kill -9, at each of its steps; another process brings the same end."""

import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from headgate_bus.interface import Bus, Topic
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.events import decode_event
from headgate_schemas.proposals import new_proposal
from headgate_table.store.local import LocalStore
from support.committing.doomed_committer import Order, committers
from support.committing.milvus_play import PROPOSED, check_end, lay_foreign_versions
from support.committing.rig import as_message
from support.stores.faulty import WRITES

IDS = [f"p{number}" for number in range(len(PROPOSED))]


class Stage:
    """A table on a local disk and a bus in a file with everything proposed, laid out anew for each death."""

    def __init__(self, folder: Path) -> None:
        self._kept, self._used = folder / "kept", folder / "used"
        self.bus = f"sqlite://{self._used}/bus.db"
        self._table = str(self._used / "table")
        self._used.mkdir()
        ambient = SystemAmbient()
        lay_foreign_versions(LocalStore(self._table, ambient, durable=False))
        with closing(open_bus(self.bus, ambient)) as bus:
            bus.prepare()
            for identity, (operation, writer) in zip(IDS, PROPOSED, strict=True):
                proposal = new_proposal(
                    operation,
                    proposal_id=identity,
                    table=self._table,
                    created_ms=ambient.now_ms(),
                    author="test",
                    writer=writer,
                )
                bus.append(Topic.PROPOSALS, [as_message(proposal)])
        self._used.rename(self._kept)

    def lay_out(self) -> None:
        shutil.rmtree(self._used, ignore_errors=True)
        shutil.copytree(self._kept, self._used)

    def check(self) -> None:
        ambient = SystemAmbient()
        with closing(open_bus(self.bus, ambient)) as bus:
            check_end(LocalStore(self._table, ambient, durable=False), list(_announced(bus)), IDS)


def _announced(bus: Bus) -> Iterator[object]:
    reader = bus.reader(Topic.EVENTS, dict.fromkeys(range(bus.partitions(Topic.EVENTS)), 0))
    with closing(reader):
        while records := reader.read(0.0):
            yield from (decode_event(record.body) for record in records)


def test_a_committer_process_killed_at_each_of_its_steps_loses_and_doubles_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with committers() as processes:
        stage.lay_out()
        whole = processes.run(Order(stage.bus))
        assert whole.exit_code == 0
        stage.check()
        written = {step.split()[2].rpartition("/")[0] for step in whole.steps if step.startswith("store create")}
        assert written == {"_headgate/commits", "_metadata"}
        assert "publish" in whole.steps
        for number, step in enumerate(whole.steps, start=1):
            # A read has no effect to die after.
            for after in (False, True) if step == "publish" or step.split()[1] in WRITES else (False,):
                stage.lay_out()
                killed = processes.run(Order(stage.bus, number, after))
                assert killed.exit_code == -signal.SIGKILL, f"nobody was killed at step {number}, {step}"
                assert processes.run(Order(stage.bus)).exit_code == 0, f"after a death at step {number}, {step}"
                stage.check()
