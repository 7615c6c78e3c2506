"""What a process tells over HTTP: alive, ready, metrics; as text and as JSON; and the command that asks."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from headgate.__main__ import main
from headgate.health.asking_health import ask_health
from headgate.health.measuring import CONTENT_TYPE, PrometheusMeasures
from headgate.health.monitored import monitored
from headgate.health.monitoring import UNWATCHED, Monitor
from headgate.health.operator_routes import operator_routes
from headgate.health.probes import Watch
from headgate.settings.health_limits import HealthLimits
from headgate.settings.listen_address import listen_address
from headgate.web.server import serving_web
from headgate_committer.committer import Committer
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import HeadgateError
from headgate_table.store.settings import StoreSettings
from support.ambient import FakeAmbient
from support.committing.rig import TABLE, Rig
from support.processes.health import Asking
from support.processes.waiting import wait_until
from support.stores.faulty import Fault, FaultyStore, no_faults

LIMITS = {"committer": HealthLimits()}


class Scene:
    """A committer on a bus in memory, whose clock stands still until it is moved."""

    def __init__(self, root: Path) -> None:
        self.rig = Rig()
        self.ambient = self.rig.ambient
        self.measures = PrometheusMeasures(self.ambient)
        self.monitor = Monitor(self.ambient, self.measures, LIMITS)
        self.measures.before_reading(self.monitor.set_gauges)
        self.app = Starlette(routes=operator_routes(self.monitor, self.measures))
        self.root = root
        self.client = Asking("")

    def watched(self, committer: Committer) -> Any:
        return self.monitor.watching_committer(committer, self.rig.bus, StoreSettings(), [str(self.root)])

    def ready(self) -> tuple[int, Any]:
        answer = self.client.get("/readyz", "application/json")
        return answer.status, json.loads(answer.text)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    found = Scene(tmp_path)
    with serving_web(found.app, listen_address("127.0.0.1:0")) as address:
        found.client = Asking(address.url)
        yield found


def test_before_the_committer_is_there_the_process_is_alive_and_not_ready(scene: Scene) -> None:
    assert (scene.client.get("/healthz").status, scene.client.get("/healthz").text) == (200, "alive\n")
    answer = scene.client.get("/readyz")
    assert (answer.status, answer.text) == (
        503,
        "not ready\ncommitter: it began 0.0 s ago and is not at work yet\n",
    )


def test_a_committer_at_work_is_ready_and_says_so_as_text_and_as_json(scene: Scene) -> None:
    committer = scene.rig.committer()
    with scene.watched(committer):
        scene.rig.settle(committer)
        scene.ambient.advance(seconds=1)
        committer.step(0.0)
        assert scene.client.get("/readyz").text == "ready\n"
        told = {"ready": True, "alive": True, "reasons": [], "notes": []}
        assert scene.ready() == (200, {"status": "ready", "parts": {"committer": told}})


def test_a_loop_that_stands_still_is_unready_first_and_dead_later(scene: Scene) -> None:
    committer = scene.rig.committer()
    with scene.watched(committer):
        scene.rig.settle(committer)
        scene.ambient.advance(seconds=1)
        committer.step(0.0)
        scene.ambient.advance(seconds=11)
        status, told = scene.ready()
        assert (status, [reason["code"] for reason in told["parts"]["committer"]["reasons"]]) == (503, ["stuck"])
        assert scene.client.get("/healthz").status == 200
        scene.ambient.advance(seconds=180)
        answer = scene.client.get("/healthz")
        assert (answer.status, answer.text) == (
            503,
            "not alive\ncommitter: its loop has stood still for 191.0 s\n",
        )
        committer.step(0.0)
        assert (scene.client.get("/healthz").status, scene.ready()[0]) == (200, 200)


def test_a_process_whose_loop_is_over_is_not_ready_any_more(scene: Scene) -> None:
    committer = scene.rig.committer()
    with scene.watched(committer):
        scene.rig.settle(committer)
    _, told = scene.ready()
    assert "ended" in [reason["code"] for reason in told["parts"]["committer"]["reasons"]]


def test_metrics_are_in_the_text_format_and_up_to_date(scene: Scene) -> None:
    committer = scene.rig.committer()
    with scene.watched(committer):
        scene.rig.settle(committer)
        scene.ambient.advance(seconds=7)
        answer = scene.client.get("/metrics")
    assert answer.kind == CONTENT_TYPE
    assert 'headgate_round_age_seconds{process="committer"} 7.0' in answer.text


def test_while_no_table_can_be_worked_on_the_lag_grows_and_the_reason_is_told(scene: Scene) -> None:
    broken = FaultyStore(scene.rig.stores[TABLE], lambda step: Fault.REFUSED)
    committer = scene.rig.committer(stores={TABLE: broken})
    with scene.watched(committer):
        for _ in range(8):
            committer.step(0.0)
            scene.ambient.advance(seconds=1)
        assert scene.client.metric("headgate_lag_seconds") == 8
        assert scene.client.metric("headgate_lag_proposals") == 1
        assert scene.client.metric("headgate_tables", condition="waiting") == 1
        assert scene.client.reasons().keys() == {"tables_fail"}
        assert f"{TABLE} refused step" in scene.client.words()
        broken.plan = no_faults
        scene.ambient.advance(seconds=20)
        scene.rig.settle(committer)
        scene.ambient.advance(seconds=1)
        committer.step(0.0)
        assert scene.client.metric("headgate_lag_seconds") == 0
        assert scene.client.reasons() == {}


def test_nothing_else_is_served(scene: Scene) -> None:
    assert scene.client.get("/").status == 404
    assert scene.client.get("/readyz", method="POST").status == 405


# ---- asking again and again


def test_a_question_that_fails_is_told_from_when_it_was_asked_until_one_succeeds() -> None:
    ambient = FakeAmbient()
    trouble: list[str] = ["no route"]

    def ask() -> None:
        ambient.advance(seconds=2)
        if trouble:
            raise HeadgateError(trouble[0])

    watch = Watch("it", ask, ambient, 1.0)
    began_s = ambient.monotonic_s()
    for _ in range(3):
        watch.ask_once()
    assert (watch.asked.failing_since_s, watch.asked.problem) == (began_s, "no route")
    trouble.clear()
    watch.ask_once()
    assert watch.asked.silent_s(ambient.monotonic_s()) == 0


def test_a_defect_in_a_question_is_told_like_trouble() -> None:
    def ask() -> None:
        raise ZeroDivisionError("one by nothing")

    watch = Watch("it", ask, FakeAmbient(), 1.0)
    watch.ask_once()
    assert watch.asked.problem == "ZeroDivisionError: one by nothing"


def test_a_question_without_an_answer_counts_while_it_is_open() -> None:
    answered = threading.Event()

    def ask() -> None:
        answered.wait(60)

    watch = Watch("it", ask, SystemAmbient(), 1.0)
    watch.start()
    wait_until(lambda: watch.asked.unanswered_since_s is not None, "it is asked")
    assert watch.asked.silent_s(SystemAmbient().monotonic_s() + 5) >= 5
    answered.set()
    wait_until(lambda: watch.asked.unanswered_since_s is None, "it is answered")
    watch.stop()


# ---- the command that asks


@pytest.fixture
def served(scene: Scene) -> str:
    return scene.client.url


def test_the_command_prints_what_the_process_says_and_ends_with_1_where_it_is_not_well(
    served: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask_health(f"{served}/readyz") == 1
    assert capsys.readouterr().out.startswith("not ready\ncommitter: it began ")


def test_the_command_ends_with_0_where_the_process_is_well(served: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask_health(f"{served}/healthz") == 0
    assert capsys.readouterr().out == "alive\n"


def test_the_command_asks_for_readiness_without_a_path(served: str) -> None:
    assert ask_health(served) == 1


def test_the_command_ends_with_1_where_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask_health("http://127.0.0.1:1/readyz") == 1
    assert "doesn't answer" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "https://a:1/readyz", "http://a/readyz", "http://:80", "x"])
def test_the_command_ends_with_2_where_the_address_is_none(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask_health(url) == 2
    assert "such as http://127.0.0.1:8080/readyz" in capsys.readouterr().err


def test_the_command_is_found_before_the_others_are_imported(
    served: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["headgate", "health", f"{served}/healthz"])
    assert main() == 0
    assert capsys.readouterr().out == "alive\n"


# ---- the process


def test_a_process_that_listens_nowhere_measures_nothing_and_starts_no_server() -> None:
    before = threading.active_count()
    with monitored(None, SystemAmbient(), LIMITS) as monitoring:
        assert monitoring is UNWATCHED
        assert threading.active_count() == before


def test_a_process_that_listens_tells_how_it_is_until_the_end_of_the_block() -> None:
    said: list[int] = []
    with monitored(listen_address("127.0.0.1:0"), SystemAmbient(), LIMITS) as monitoring:
        assert isinstance(monitoring, Monitor)
        said = [thread.name == "headgate-operator" for thread in threading.enumerate()]
    assert any(said)
    assert "headgate-operator" not in [thread.name for thread in threading.enumerate()]
