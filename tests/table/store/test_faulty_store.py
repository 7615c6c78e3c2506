"""The store that fails on purpose does exactly what its plan says: other tests rest on it."""

import pytest

from headgate_table.errors import StoreError
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown
from support.stores.faulty import Fault, FaultyStore, StepKill, at, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore


@pytest.mark.parametrize(("fault", "written"), [(Fault.LOST_REQUEST, False), (Fault.LOST_ANSWER, True)])
def test_a_create_without_an_answer_is_unknown_before_or_after_the_effect(fault: Fault, written: bool) -> None:
    store = FaultyStore(MemoryStore(), at(1, fault))
    assert isinstance(store.create("k", b"1"), Unknown)
    assert (store.inner.head("k") is not None) is written


def test_a_request_that_is_late_arrives_when_it_is_let() -> None:
    store = FaultyStore(MemoryStore(), at(1, Fault.LATE))
    assert isinstance(store.create("k", b"late"), Unknown)
    assert isinstance(store.create("k", b"first"), Created)
    assert (store.deliver_late(), store.get("k")) == (1, b"first")


@pytest.mark.parametrize(("fault", "written"), [(Fault.REFUSED, False), (Fault.LOST_ANSWER, True)])
def test_a_put_that_fails_raises_before_or_after_the_effect(fault: Fault, written: bool) -> None:
    store = FaultyStore(MemoryStore(), on("put", fault))
    with pytest.raises(StoreError):
        store.put("k", b"1")
    assert (store.inner.head("k") is not None) is written


def test_a_plan_for_a_key_hits_that_key_the_given_number_of_times() -> None:
    store = FaultyStore(MemoryStore(), on("create", Fault.REFUSED, key="state", times=2))
    assert isinstance(store.create("log", b""), Created)
    for _ in range(2):
        with pytest.raises(StoreError):
            store.create("state-v1", b"")
    assert isinstance(store.create("state-v1", b""), Created)


def test_a_dead_process_does_nothing_more() -> None:
    store = FaultyStore(MemoryStore(), at(2, Fault.KILL_BEFORE))
    store.put("a", b"")
    with pytest.raises(StepKill):
        store.put("b", b"")
    with pytest.raises(StepKill):
        store.put("c", b"")
    assert [info.key for info in store.inner.list()] == ["a"]


def test_deleting_is_one_step_a_key() -> None:
    inner = MemoryStore()
    for key in ("a", "b", "c"):
        inner.put(key, b"")
    with pytest.raises(StepKill):
        FaultyStore(inner, at(2, Fault.KILL_AFTER)).delete(["a", "b", "c"])
    assert [info.key for info in inner.list()] == ["c"]


def test_work_is_killed_at_every_step_before_and_after_its_effect() -> None:
    def work(store: Store) -> None:
        store.create("a", b"1")
        store.get("a")
        store.put("b", b"2")

    found = [
        (death.step.operation, death.fault, [info.key for info in death.store.list()])
        for death in deaths(MemoryStore, work)
    ]
    assert found == [
        ("create", Fault.KILL_BEFORE, []),
        ("create", Fault.KILL_AFTER, ["a"]),
        ("get", Fault.KILL_BEFORE, ["a"]),
        ("put", Fault.KILL_BEFORE, ["a"]),
        ("put", Fault.KILL_AFTER, ["a", "b"]),
    ]


def test_work_that_swallows_its_death_is_found_out() -> None:
    def work(store: Store) -> None:
        try:
            store.create("a", b"1")
        except StepKill:
            return

    with pytest.raises(AssertionError, match="never died"):
        list(deaths(MemoryStore, work))


def test_steps_and_bytes_are_counted_by_kind() -> None:
    store = FaultyStore(MemoryStore())
    store.put("a", b"12345")
    store.create("b", b"123")
    store.get("a")
    store.get_range("a", 1, 2)
    assert (store.count(), store.count("get"), store.count("put", "create")) == (4, 1, 2)
    assert (store.byte_count("get"), store.byte_count("get_range"), store.byte_count()) == (5, 2, 15)
    assert [(step.number, step.operation, step.key) for step in store.steps][:2] == [
        (1, "put", "a"),
        (2, "create", "b"),
    ]


def test_a_new_object_is_missing_in_listings_for_a_while() -> None:
    store = FaultyStore(MemoryStore(), unseen_for=2)
    store.inner.put("old", b"")
    store.put("new", b"")
    seen = [[info.key for info in store.list()] for _ in range(3)]
    assert seen == [["old"], ["old"], ["new", "old"]]


def test_listings_come_in_the_order_that_a_test_wants() -> None:
    store = FaultyStore(MemoryStore(), reorder=lambda listed: listed[::-1])
    for key in ("log/a", "log/b"):
        store.put(key, b"")
    assert [info.key for info in store.list()] == ["log/b", "log/a"]
    assert [info.key for info in store.list_folder("log/").objects] == ["log/b", "log/a"]


def test_the_etag_of_a_look_is_not_taken_by_swap() -> None:
    store = MemoryStore()
    store.put("k", b"1")
    info = store.head("k")
    assert info is not None
    assert store.swap("k", b"2", info.etag) == AlreadyExists()
