"""What the measured store says of requests; that it is a store like any other, the contract of stores says."""

import io
import pickle
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headgate.health.measuring import PrometheusMeasures
from headgate_schemas.measures import SILENT
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from headgate_table.store.measured import MeasuredStore
from support.ambient import FakeAmbient
from support.stores.faulty import Fault, FaultyStore, Plan, no_faults, on
from support.stores.memory import MemoryStore


class Scene:
    def __init__(self, plan: Plan = no_faults) -> None:
        self.ambient = FakeAmbient()
        self.measures = PrometheusMeasures(self.ambient)
        self.inner = FaultyStore(MemoryStore(self.ambient), plan)
        self.store: Store = MeasuredStore(self.inner, self.measures, self.ambient.monotonic_s)

    def requests(self) -> dict[tuple[str, str], float]:
        return {
            (sample.labels["request"], sample.labels["outcome"]): sample.value
            for family in text_string_to_metric_families(self.measures.text().decode())
            for sample in family.samples
            if sample.name == "headgate_store_request_seconds_count"
        }

    def carried(self) -> dict[str, float]:
        return {
            sample.labels["direction"]: sample.value
            for family in text_string_to_metric_families(self.measures.text().decode())
            for sample in family.samples
            if sample.name == "headgate_store_bytes_total"
        }


def test_every_request_is_counted_by_its_kind_and_outcome() -> None:
    scene = Scene()
    store = scene.store
    store.put("a", b"12345")
    store.put_stream("b", io.BytesIO(b"123"))
    store.create("c", b"1")
    store.create("c", b"1")
    _, etag = store.get_with_etag("c")
    store.swap("c", b"22", etag)
    store.swap("c", b"3", etag)
    store.get("a")
    store.get_range("a", 1, 2)
    store.head("a")
    store.head("nothing")
    list(store.list())
    store.list_folder("")
    store.delete(["a", "b"])
    assert scene.requests() == {
        ("put", "ok"): 1,
        ("put_stream", "ok"): 1,
        ("create", "ok"): 1,
        ("create", "exists"): 1,
        ("get_with_etag", "ok"): 1,
        ("swap", "ok"): 1,
        ("swap", "exists"): 1,
        ("get", "ok"): 1,
        ("get_range", "ok"): 1,
        ("head", "ok"): 1,
        ("head", "missing"): 1,
        ("list", "ok"): 1,
        ("list_folder", "ok"): 1,
        ("delete", "ok"): 1,
    }
    assert scene.carried() == {"written": 5 + 3 + 1 + 2, "read": 1 + 5 + 2}


def test_a_missing_object_is_an_answer_and_a_failure_is_none() -> None:
    scene = Scene(on("get", Fault.REFUSED, key="refused"))
    with pytest.raises(ObjectMissing):
        scene.store.get("nothing")
    with pytest.raises(StoreError):
        scene.store.get("refused")
    assert scene.requests() == {("get", "missing"): 1, ("get", "failed"): 1}


def test_a_conditional_write_without_an_answer_is_unknown() -> None:
    scene = Scene(on("create", Fault.LOST_ANSWER))
    scene.store.create("a", b"1")
    assert scene.requests() == {("create", "unknown"): 1}
    assert scene.carried() == {}


def test_a_listing_that_is_left_early_is_counted_once_without_the_time_of_who_reads_it() -> None:
    scene = Scene()
    for name in ("a", "b", "c"):
        scene.inner.put(name, b"")
    listing = scene.store.list()
    assert next(listing).key == "a"
    scene.ambient.advance(seconds=100)
    listing.close()  # type: ignore[attr-defined]  # it is a generator, which is left like this by a loop that ends early
    assert scene.requests() == {("list", "ok"): 1}
    text = scene.measures.text().decode()
    assert 'headgate_store_request_seconds_sum{outcome="ok",request="list"} 0.0' in text


def test_a_listing_that_fails_is_counted_as_failed() -> None:
    scene = Scene(on("list", Fault.REFUSED))
    with pytest.raises(StoreError):
        list(scene.store.list())
    assert scene.requests() == {("list", "failed"): 1}


def test_a_pickle_of_it_is_the_store_alone(tmp_path: Path) -> None:
    """Executors of other machines measure nothing."""
    store = MeasuredStore(LocalStore(str(tmp_path), FakeAmbient()), SILENT, FakeAmbient().monotonic_s)
    again = pickle.loads(pickle.dumps(store))  # noqa: S301 - bytes of our own
    assert (type(again), again.uri) == (LocalStore, store.uri)
