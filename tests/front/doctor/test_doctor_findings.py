"""What the doctor finds of settings, permissions, clocks, disks and topics; every problem says what mends it."""

import shutil
from collections import namedtuple
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headgate.doctor import bus_checkup, place_checkup
from headgate.doctor.findings import DoctorFinding, Health
from headgate.doctor.settings_checkup import examine_settings
from headgate.settings.loading import Settings, load_settings
from headgate_bus.interface import Message, Topic
from headgate_table.errors import StoreError
from headgate_table.store.interface import Store
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.stores.memory import MemoryStore

Usage = namedtuple("Usage", "total used free")


class Forbidding(MemoryStore):
    """One of its calls is denied."""

    forbidden = ""

    def _deny(self, name: str) -> None:
        if name == self.forbidden:
            raise StoreError(f"could not {name}: denied")

    def put(self, key: str, data: bytes) -> None:
        self._deny("put")
        super().put(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        self._deny("delete")
        super().delete(keys)


def settings(
    *, store: dict[str, str] | None = None, bus: str | None = None, committer: str = "", worker: str = ""
) -> Settings:
    """`committer` and `worker` are their roots."""
    return load_settings(store or {}, {}, None, bus=bus, committer={"roots": committer}, worker={"roots": worker})


def of_settings(given: Settings, uri: str | None = None) -> list[tuple[Health, str]]:
    found = list(examine_settings(uri, given))
    assert [one for one in found if one.health is not Health.OK and not one.mend] == []
    return [(one.health, one.found) for one in found]


def of_place(store: Store, monkeypatch: pytest.MonkeyPatch) -> dict[str, DoctorFinding]:
    monkeypatch.setattr(place_checkup, "open_store", lambda *_: store)
    found = place_checkup.examine_place("/nowhere", settings(), FakeAmbient())
    return {one.check: one for one in found}


def test_settings_of_which_none_contradicts_another_are_sound() -> None:
    both = {"s3.access-key": "a", "s3.secret-key": "b", "s3.endpoint": "http://localhost:9000"}
    given = settings(store=both, bus="kafka://a:9092", committer="s3://lake", worker="s3://lake")
    assert of_settings(given, "s3://lake/t") == [(Health.OK, "none contradicts another")]


@pytest.mark.parametrize(
    ("store", "health", "said"),
    [
        ({"s3.access-key": "a"}, Health.PROBLEM, "s3.access-key is set, and s3.secret-key is not"),
        ({"s3.secret-key": "a"}, Health.PROBLEM, "s3.secret-key is set, and s3.access-key is not"),
        ({"s3.session-token": "a"}, Health.PROBLEM, "s3.session-token is set without the keys"),
        ({"s3.access-key": "a", "s3.secret-key": "b", "s3.profile": "p"}, Health.NOTE, "s3.profile and s3.access-key"),
        (
            {"azure.sas-token": "a", "azure.account-key": "b"},
            Health.NOTE,
            "azure.account-key is used, and azure.sas-token is not",
        ),
        ({"s3.endpoint": "http://store:9000"}, Health.NOTE, "can be seen on its way"),
        ({"local.durable": "false"}, Health.NOTE, "a power cut may lose"),
    ],
)
def test_settings_of_the_store_that_contradict(store: dict[str, str], health: Health, said: str) -> None:
    [(found, text)] = of_settings(settings(store=store))
    assert found is health
    assert said in text


@pytest.mark.parametrize(
    ("bus", "said"),
    [
        (
            "kafka://far:9092?security_protocol=SASL_PLAINTEXT&sasl_mechanism=PLAIN&sasl_plain_username=u&sasl_plain_password=sesame",
            "SASL_PLAINTEXT",
        ),
        ("kafka://a:9092,b:9092", "several brokers and no replication"),
        ("kafka://a:9092", "serves every table"),
    ],
)
def test_a_bus_that_is_less_than_it_seems(bus: str, said: str) -> None:
    found = of_settings(settings(bus=bus))
    assert [health for health, text in found if said in text] == [Health.NOTE]
    assert "sesame" not in str(found)


def test_a_table_outside_of_the_roots_is_a_problem() -> None:
    found = of_settings(settings(committer="s3://lake", worker="s3://lake"), "s3://lakes/t")
    assert found == [
        (
            Health.PROBLEM,
            "s3://lakes/t lies outside of the roots s3://lake: a committer with these settings refuses it",
        )
    ]


def test_roots_that_differ_between_committers_and_workers_are_noted() -> None:
    [(health, text)] = of_settings(settings(committer="s3://lake"))
    assert health is Health.NOTE
    assert "committers serve s3://lake, and workers everything" in text


def test_settings_that_cannot_be_read_are_a_finding_and_not_the_end(headgate: Any) -> None:
    ran = headgate("doctor", "--store", "s3.colour=red", "--format", "json")
    [found] = [row for row in ran.json if row["check"] == "settings"]
    assert (ran.code, found["health"]) == (1, "problem")
    assert "s3.colour" in found["found"]
    assert found["mend"]


def test_what_the_credentials_may_not_do_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for forbidden, said in (("put", "may not write"), ("delete", "may not delete")):
        store = Forbidding(FakeAmbient())
        store.forbidden = forbidden
        found = of_place(store, monkeypatch)
        assert found["permissions"].health is Health.PROBLEM
        assert said in found["permissions"].found
        assert "read, write, list and delete below" in (found["permissions"].mend or "")
        assert "conditional writes" not in found


@pytest.mark.parametrize(
    ("seconds", "health", "said"),
    [(0, Health.OK, "0 s"), (20, Health.OK, "ahead"), (90, Health.PROBLEM, "ahead"), (-90, Health.PROBLEM, "behind")],
)
def test_a_store_whose_clock_is_another_is_a_problem(
    seconds: int, health: Health, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeAmbient()
    clock.advance(seconds=seconds)
    found = of_place(MemoryStore(clock), monkeypatch)["clock"]
    assert found.health is health
    assert said in found.found


@pytest.mark.parametrize(("free", "health"), [(50 << 30, Health.OK), (3 << 30, Health.NOTE), (1 << 20, Health.PROBLEM)])
def test_a_disk_that_is_nearly_full(free: int, health: Health, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100 << 30, 0, free))
    found = place_checkup.disk_finding("disk", tmp_path / "later/t")
    assert found.health is health
    assert str(tmp_path) in found.found


def test_a_folder_that_everybody_may_change_is_noted(headgate: Any, sales: Path) -> None:
    sales.chmod(0o777)
    [found] = [row for row in headgate("doctor", sales, "--format", "json").json if row["check"] == "folder"]
    assert (found["health"], found["mend"]) == ("note", f"chmod o-w {sales}")


class Changed(MemoryBus):
    """Somebody has changed its topics."""

    def faults(self) -> Sequence[str]:
        return ["topic headgate.proposals isn't set up as it must be: retention.ms is 1, but must be -1"]


def of_bus(bus: MemoryBus, ambient: FakeAmbient, monkeypatch: pytest.MonkeyPatch) -> dict[str, DoctorFinding]:
    monkeypatch.setattr(bus_checkup, "open_bus", lambda *_: bus)
    return {one.check: one for one in bus_checkup.examine_bus("kafka://a", "group", ambient)}


def test_topics_that_somebody_has_changed_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    ambient = FakeAmbient()
    bus = Changed(ambient)
    bus.prepare()
    found = of_bus(bus, ambient, monkeypatch)["topics"]
    assert found.health is Health.PROBLEM
    assert "retention.ms" in found.found


@pytest.mark.parametrize(("seconds", "health"), [(0, Health.OK), (-600, Health.OK), (600, Health.PROBLEM)])
def test_a_bus_whose_newest_record_is_of_the_future_has_another_clock(
    seconds: int, health: Health, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = FakeAmbient(), FakeAmbient()
    there.advance(seconds=seconds)
    bus = MemoryBus(there)
    bus.prepare()
    bus.append(Topic.PROPOSALS, [Message("t", {}, b"{}")])
    with closing(bus):
        assert of_bus(bus, here, monkeypatch)["clock of the bus"].health is health
