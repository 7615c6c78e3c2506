"""Every metric of the catalogue is measured by some part, and all of them show while a committer and a worker do their work."""

import ast
import os
import threading
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import headgate_schemas.metrics as catalogue
from headgate.health.judgement import Healthy
from headgate.health.measuring import PrometheusMeasures
from headgate.health.monitoring import Monitor
from headgate.process.combined_process import run_together
from headgate.settings.health_limits import WORKER_LIMITS, HealthLimits
from headgate.settings.loading import load_settings
from headgate_bus.interface import Message, Topic
from headgate_bus.open import open_bus
from headgate_producer.producer import Producer
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.measures import Metric
from headgate_schemas.messages.operations import Committed, Rejected
from headgate_schemas.metrics import CATALOGUE
from headgate_table.table import Table
from support.processes.waiting import wait_until
from support.tables import COLUMNS, add_file

ROOT = Path(__file__).parents[3]
ROOMS = ("table", "committer", "worker", "front")
PATIENCE_S = 60.0
TEN_DAYS_S = 10 * 24 * 3600.0
NAMES = [name for name, value in vars(catalogue).items() if isinstance(value, Metric)]


def used_names() -> set[str]:
    """What is named in the code of the rooms, import lines aside."""
    found: set[str] = set()
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                match node:
                    case ast.Name(id=name) | ast.Attribute(attr=name):
                        found.add(name)
    return found


USED = used_names()


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_measured_somewhere(name: str) -> None:
    assert name in USED


def test_the_catalogue_holds_all_that_are_defined() -> None:
    assert len(NAMES) == len(CATALOGUE)


def test_a_committer_and_a_worker_at_work_show_them_all(tmp_path: Path) -> None:
    ambient = SystemAmbient()
    measures = PrometheusMeasures(ambient)
    monitor = Monitor(ambient, measures, {"committer": HealthLimits(), "worker": WORKER_LIMITS})
    measures.before_reading(monitor.set_gauges)
    lake, address = tmp_path / "lake", f"sqlite://{tmp_path}/bus.db"
    table = str(lake / "events")
    settings = load_settings(
        {"local.durable": "false"},
        {},
        None,
        bus=address,
        committer={"roots": str(lake), "linger-ms": "1"},
        worker={"roots": str(lake), "sweep-ms": "200", "clean-cooldown-ms": "0", "backlog-check-ms": "100"},
    )
    orphan = lake / "events/nobody-names-it.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"left over")
    old_s = ambient.now_ms() / 1000 - TEN_DAYS_S
    os.utime(orphan, (old_s, old_s))
    told_to_stop = threading.Event()

    def work() -> None:
        with closing(open_bus(address, ambient)) as bus:
            run_together(bus, address, settings, ambient, told_to_stop.is_set, monitor)

    with closing(open_bus(address, ambient)) as bus:
        bus.prepare()
    process = threading.Thread(target=work, name="both")
    process.start()
    try:
        wait_until(
            lambda: all(isinstance(part.verdict, Healthy) for part in monitor.health().values()), "both are ready"
        )
        with Producer(address, table, storage=settings.store) as producer:
            made = producer.create(
                COLUMNS, configuration={"headgate.checkpoint.interval": "2", "headgate.mirror.formats": "delta"}
            ).wait(PATIENCE_S)
            assert isinstance(made, Committed)
            for name in ("a", "b", "c"):
                producer.append([add_file(name)]).wait(PATIENCE_S)
            assert isinstance(producer.append([add_file("a")]).wait(PATIENCE_S), Rejected)
            Table.open(table, settings.store).append([add_file("past-the-bus")])
            producer.delete(paths=[add_file("b").path]).wait(PATIENCE_S)
        with closing(open_bus(address, ambient)) as bus:
            bus.append(Topic.PROPOSALS, [Message(table, {}, b"no proposal at all")])
        wait_until(lambda: not orphan.exists(), "the worker has cleaned")
        wait_until(lambda: without_samples(measures) == set(), f"all show, but {without_samples(measures)}")
    finally:
        told_to_stop.set()
        process.join(PATIENCE_S)
    assert not process.is_alive()


def without_samples(measures: PrometheusMeasures) -> set[str]:
    shown = {family.name for family in text_string_to_metric_families(measures.text().decode()) if family.samples}
    return {metric.name for metric in CATALOGUE if metric.name.removesuffix("_total") not in shown}
