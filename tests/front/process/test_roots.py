"""The roots of a process, tried when it starts: a store that fails for a moment is tried again, one that lies is not."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.process import roots
from headgate.process.roots import ATTEMPTS, NotTrusted, probe_roots
from headgate.settings.loading import Settings, load_settings
from headgate_table.errors import StoreError
from support.ambient import FakeAmbient
from support.stores.faulty import Fault, FaultyStore, Plan, Step, no_faults, on
from support.stores.memory import MemoryStore

Open = Callable[[Plan], FaultyStore]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in ("HEADGATE_CONFIG", "HEADGATE_BUS", "HEADGATE_ROOTS"):
        monkeypatch.delenv(name, raising=False)
    return load_settings({}, {}, None)


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> Open:
    def give(plan: Plan) -> FaultyStore:
        store = FaultyStore(MemoryStore(uri="memory://lake"), plan)
        monkeypatch.setattr(roots, "open_store", lambda *_: store)
        return store

    return give


@pytest.mark.parametrize("times", [1, ATTEMPTS - 1])
@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_ANSWER])
@pytest.mark.parametrize("call", ["create", "swap", "get", "put", "delete"])
def test_a_store_that_fails_for_a_moment_is_tried_again(
    call: str, fault: Fault, times: int, opens: Open, settings: Settings
) -> None:
    ambient = FakeAmbient()
    opens(on(call, fault, times=times))
    probe_roots(["memory://lake"], settings, ambient)


FAULTS = st.none() | st.sampled_from((Fault.REFUSED, Fault.LOST_REQUEST, Fault.LOST_ANSWER))


@given(st.lists(FAULTS, max_size=40))
def test_a_store_whose_calls_fail_in_any_order_is_served_unless_every_try_meets_a_failure(
    faults: list[Fault | None],
) -> None:
    """Each try meets one failure at most, so fewer failures than tries end no process."""
    failures = 0
    calls: list[Fault | None] = []

    def plan(step: Step) -> Fault | None:
        nonlocal failures
        fault = faults[len(calls)] if len(calls) < len(faults) and failures < ATTEMPTS - 1 else None
        calls.append(fault)
        failures += fault is not None
        return fault

    with pytest.MonkeyPatch.context() as patch:
        for name in ("HEADGATE_CONFIG", "HEADGATE_BUS", "HEADGATE_ROOTS"):
            patch.delenv(name, raising=False)
        store = FaultyStore(MemoryStore(uri="memory://lake"), plan)
        patch.setattr(roots, "open_store", lambda *_: store)
        probe_roots(["memory://lake"], load_settings({}, {}, None), FakeAmbient())
    assert len(calls) > failures, "the last try is whole"


def test_each_failure_is_a_line_of_the_log(
    opens: Open, settings: Settings, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    opens(on("create", Fault.LOST_REQUEST, times=2))
    probe_roots(["memory://lake"], settings, FakeAmbient())
    said = caplog.text + "".join(capsys.readouterr())
    assert said.count("root_not_tried") == 2


def test_a_store_that_does_not_answer_at_all_ends_the_process_in_bounded_time(opens: Open, settings: Settings) -> None:
    ambient = FakeAmbient()
    opens(on("create", Fault.LOST_REQUEST, times=10_000))
    began_s = ambient.monotonic_s()
    with pytest.raises(StoreError, match=rf"the root memory://lake can't be used: .* It was tried {ATTEMPTS} times"):
        probe_roots(["memory://lake"], settings, ambient)
    assert 5.0 < ambient.monotonic_s() - began_s < 25.0


def test_a_process_that_is_told_to_stop_tries_no_more(opens: Open, settings: Settings) -> None:
    ambient = FakeAmbient()
    opens(on("create", Fault.LOST_REQUEST, times=10_000))
    ends_s = ambient.monotonic_s() + 1.0
    probe_roots(["memory://lake"], settings, ambient, lambda: ambient.monotonic_s() >= ends_s)
    assert ambient.monotonic_s() < ends_s + 5.0


class Careless(MemoryStore):
    """Ignores that an object is there."""

    def create(self, key: str, data: bytes):  # type: ignore[no-untyped-def]  # as the class above has it
        self.delete([key])
        return super().create(key, data)


def test_a_store_that_ignores_conditions_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    ambient = FakeAmbient()
    store = FaultyStore(Careless(uri="memory://lake"), no_faults)
    monkeypatch.setattr(roots, "open_store", lambda *_: store)
    began_s = ambient.monotonic_s()
    with pytest.raises(NotTrusted, match="created the same object twice"):
        probe_roots(["memory://lake"], settings, ambient)
    assert ambient.monotonic_s() == began_s
