"""Commits on a store that loses requests and answers: settled by reading, and never done twice."""

from collections.abc import Callable

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.errors import CommitConflict, OutcomeUnknown, StoreError
from headgate_table.milvus import MERGE, Manifest, ManifestForm, Resolver, Transaction, decode_manifest, encode_manifest
from headgate_table.milvus.format.names import found_manifests, manifest_key
from headgate_table.milvus.log import CREATE_ATTEMPTS
from headgate_table.store.interface import CreateOutcome
from support.ambient import FakeAmbient
from support.stores.faulty import Fault, FaultyStore, Plan, Step, StepKill, at, on
from support.stores.memory import MemoryStore

Interleave = Callable[[], None]


def _open(
    store: MemoryStore | FaultyStore, resolver: Resolver = MERGE, form: ManifestForm | None = None
) -> Transaction:
    return Transaction.open(store, "t", resolver=resolver, form=form, ambient=FakeAmbient())


def _commit(store: MemoryStore, path: str) -> int:
    return _open(store).add_delta_log(path, 1).commit()


def _newest(store: MemoryStore) -> list[str]:
    names = [info.key.rpartition("/")[2] for info in store.list("t/_metadata/")]
    key = manifest_key("t/", found_manifests(names).latest)
    return [log.path for log in decode_manifest(store.get(key), "newest").delta_logs]


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_ANSWER])
@pytest.mark.parametrize("times", [1, 2, CREATE_ATTEMPTS - 1])
@pytest.mark.parametrize("form", [ManifestForm.RAW_V1, ManifestForm.CONTAINER_V6])
def test_a_lost_message_is_settled_by_reading(fault: Fault, times: int, form: ManifestForm) -> None:
    store = MemoryStore()
    transaction = _open(FaultyStore(store, on("create", fault, times=times)), form=form)
    assert transaction.add_delta_log("mine", 1).commit() == 1
    assert _newest(store) == ["mine"]


class _Meanwhile(FaultyStore):
    """Lets another writer act right after our first create, whatever became of that."""

    def __init__(self, inner: MemoryStore, plan: Plan, act: Interleave) -> None:
        super().__init__(inner, plan)
        self.act: Interleave | None = act

    def create(self, key: str, data: bytes) -> CreateOutcome:
        outcome = super().create(key, data)
        if self.act is not None:
            act, self.act = self.act, None
            act()
        return outcome


def test_a_number_that_another_writer_took_after_our_lost_request_is_theirs() -> None:
    store = MemoryStore()
    faulty = _Meanwhile(store, on("create", Fault.LOST_REQUEST), lambda: _ignore(_commit(store, "theirs")))
    assert _open(faulty).add_delta_log("mine", 1).commit() == 2
    assert _newest(store) == ["theirs", "mine"]


def test_with_fail_a_writer_whose_number_was_taken_after_a_lost_request_is_told() -> None:
    store = MemoryStore()
    faulty = _Meanwhile(store, on("create", Fault.LOST_REQUEST), lambda: _ignore(_commit(store, "theirs")))
    with pytest.raises(CommitConflict, match="concurrent transaction detected"):
        _open(faulty, Resolver.FAIL).add_delta_log("mine", 1).commit()
    assert _newest(store) == ["theirs"]


def test_a_version_whose_answer_was_lost_stays_ours_when_others_build_on_it() -> None:
    store = MemoryStore()
    faulty = _Meanwhile(store, on("create", Fault.LOST_ANSWER), lambda: _ignore(_commit(store, "theirs")))
    assert _open(faulty).add_delta_log("mine", 1).commit() == 1
    assert _newest(store) == ["mine", "theirs"]


def test_a_late_request_and_its_repetition_are_one_commit() -> None:
    store = MemoryStore()
    faulty = FaultyStore(store, on("create", Fault.LATE))
    assert _open(faulty).add_delta_log("mine", 1).commit() == 1
    assert faulty.deliver_late() == 1
    assert (_newest(store), len(list(store.list("t/")))) == (["mine"], 1)


def test_a_plain_conflict_is_one_even_when_the_bytes_are_the_same() -> None:
    store = MemoryStore()
    one, other = (_open(store, Resolver.FAIL).add_delta_log("same", 1) for _ in range(2))
    one.commit()
    with pytest.raises(CommitConflict):
        other.commit()


def test_a_container_with_the_same_values_is_not_taken_for_ours() -> None:
    store = MemoryStore()

    def theirs() -> None:
        other = Transaction.open(store, "t", form=ManifestForm.CONTAINER_V6, ambient=FakeAmbient("another"))
        other.add_delta_log("same", 1).commit()

    faulty = _Meanwhile(store, on("create", Fault.LOST_REQUEST), theirs)
    with pytest.raises(CommitConflict):
        _open(faulty, Resolver.FAIL, ManifestForm.CONTAINER_V6).add_delta_log("same", 1).commit()


def test_a_store_that_never_says_is_reported_with_what_to_do() -> None:
    store = MemoryStore()
    transaction = _open(FaultyStore(store, on("create", Fault.LOST_REQUEST, times=CREATE_ATTEMPTS)))
    with pytest.raises(OutcomeUnknown, match="nobody can say whether version 1 of memory://test/t was committed"):
        transaction.add_delta_log("mine", 1).commit()


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LATE])
def test_the_next_commit_settles_an_unknown_outcome_first(fault: Fault) -> None:
    store = MemoryStore()
    faulty = FaultyStore(store, on("create", fault, times=CREATE_ATTEMPTS))
    transaction = _open(faulty).add_delta_log("mine", 1)
    with pytest.raises(OutcomeUnknown):
        transaction.commit()
    faulty.deliver_late()
    assert transaction.commit() == 1
    assert _newest(store) == ["mine"]


def test_an_unknown_outcome_that_was_none_is_merged_anew() -> None:
    store = MemoryStore()
    transaction = _open(FaultyStore(store, on("create", Fault.LOST_REQUEST, times=CREATE_ATTEMPTS))).add_delta_log(
        "mine", 1
    )
    with pytest.raises(OutcomeUnknown):
        transaction.commit()
    _commit(store, "theirs")
    assert transaction.commit() == 2
    assert _newest(store) == ["theirs", "mine"]


def test_nothing_is_added_to_a_transaction_whose_outcome_is_unknown() -> None:
    transaction = _open(FaultyStore(MemoryStore(), on("create", Fault.LOST_REQUEST, times=CREATE_ATTEMPTS)))
    with pytest.raises(OutcomeUnknown):
        transaction.add_delta_log("mine", 1).commit()
    with pytest.raises(InvalidInput, match="call commit\\(\\) again before you add"):
        transaction.add_delta_log("more", 1)


class _Interrupted(MemoryStore):
    """The user presses Ctrl-C while the first create is under way, and it happens."""

    pressed = False

    def create(self, key: str, data: bytes) -> CreateOutcome:
        outcome = super().create(key, data)
        if not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        return outcome


def test_a_commit_that_was_interrupted_is_settled_by_the_next() -> None:
    store = _Interrupted()
    transaction = _open(store).add_delta_log("mine", 1)
    with pytest.raises(KeyboardInterrupt):
        transaction.commit()
    assert transaction.commit() == 1
    assert (_newest(store), len(list(store.list("t/")))) == (["mine"], 1)


def test_a_store_that_refuses_has_written_nothing() -> None:
    store = MemoryStore()
    transaction = _open(FaultyStore(store, on("create", Fault.REFUSED))).add_delta_log("mine", 1)
    with pytest.raises(StoreError):
        transaction.commit()
    assert transaction.add_delta_log("more", 1).commit() == 1
    assert _newest(store) == ["mine", "more"]


def test_a_look_that_fails_after_the_write_is_an_unknown_outcome() -> None:
    store = MemoryStore()
    _commit(store, "first")
    faulty = FaultyStore(store)
    transaction = _open(faulty).add_delta_log("mine", 1)
    faulty.plan = on("head", Fault.REFUSED, key="manifest-1.avro")
    with pytest.raises(OutcomeUnknown):
        transaction.commit()
    assert transaction.commit() == 2
    assert _newest(store) == ["first", "mine"]


def test_no_fault_at_any_step_commits_twice_or_not_at_all() -> None:
    steps = FaultyStore(MemoryStore())
    _open(steps).add_delta_log("mine", 1).commit()
    for number in range(1, steps.count() + 1):
        for fault in (Fault.REFUSED, Fault.LOST_REQUEST, Fault.LOST_ANSWER, Fault.LATE):
            store = MemoryStore()
            faulty = FaultyStore(store, at(number, fault))
            _try_until_committed(faulty)
            faulty.deliver_late()
            assert _newest(store) == ["mine"], (number, fault)


def _try_until_committed(store: FaultyStore) -> None:
    """As a caller does: a new transaction where none could be opened, the same one where its commit failed."""
    try:
        transaction = _open(store)
    except StoreError:
        transaction = _open(store)
    transaction.add_delta_log("mine", 1)
    try:
        transaction.commit()
    except (StoreError, OutcomeUnknown):
        transaction.commit()


def test_a_death_at_any_step_leaves_the_old_version_or_the_new_one() -> None:
    before = MemoryStore()
    _commit(before, "first")
    steps = FaultyStore(before)
    _open(steps).add_delta_log("mine", 1).commit()
    found = set()
    for number in range(1, steps.count() + 1):
        for fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER):
            store = MemoryStore()
            _commit(store, "first")
            with pytest.raises(StepKill):
                _open(FaultyStore(store, at(number, fault))).add_delta_log("mine", 1).commit()
            found.add(tuple(_newest(store)))
    assert found == {("first",), ("first", "mine")}


def test_a_version_written_below_newer_ones_after_a_pause_is_not_called_committed() -> None:
    """While a writer paused, its number came into use and was deleted again, along with its predecessor."""
    store = MemoryStore()
    for number in (4, 5):
        store.put(manifest_key("t/", number), encode_manifest(Manifest()))
    faulty = FaultyStore(store)
    transaction = _open(faulty).add_delta_log("mine", 1)

    def pause(step: Step) -> Fault | None:
        if step.operation == "create":
            store.put(manifest_key("t/", 9), encode_manifest(Manifest()))
            store.delete([manifest_key("t/", 4), manifest_key("t/", 5)])
        return None

    faulty.plan = pause
    with pytest.raises(OutcomeUnknown, match="versions before 9 were deleted meanwhile"):
        transaction.commit()


def test_a_version_whose_predecessors_were_cleaned_is_committed_all_the_same() -> None:
    store = MemoryStore()
    _commit(store, "first")
    faulty = FaultyStore(store)
    transaction = _open(faulty).add_delta_log("mine", 1)

    def clean(step: Step) -> Fault | None:
        if step.operation == "create":
            store.delete([manifest_key("t/", 1)])
        return None

    faulty.plan = clean
    assert transaction.commit() == 2


def _ignore(_: object) -> None:
    return None
