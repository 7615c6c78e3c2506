"""Direct commits, and creations, that come so late that their number has been cleaned meanwhile."""

import pytest

from headgate_schemas.messages.operations import Committed
from headgate_table.errors import TableExists
from headgate_table.indextables.format.names import version_key
from support.stores.faulty import Fault, FaultyStore, Step
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, add_file, new_table, opened


def version_of(receipt: object) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def test_a_kept_state_of_the_predecessor_does_not_stand_for_its_cleaned_version() -> None:
    """Break: look for the state of the predecessor also where its version had a file, which is only cleaned once it has successors."""
    store = MemoryStore()
    table = new_table(store, interval=1)
    table.append([add_file("a")])

    def meanwhile(step: Step) -> Fault | None:
        if step.operation == "create" and step.key == version_key(2):
            others = opened(store, ambient=SteadyAmbient("others"))
            for name in ("b", "c", "d"):
                others.append([add_file(name)])
            others.checkpoint()
            store.delete([version_key(number) for number in range(4)])
        return None

    receipt = opened(FaultyStore(store, meanwhile)).append([add_file("late")])
    assert version_of(receipt) == 5
    assert opened(store).snapshot().paths() == ["a.parquet", "b.parquet", "c.parquet", "d.parquet", "late.parquet"]


@pytest.mark.parametrize("form", ["avro", "json"])
def test_a_version_that_came_late_right_below_those_that_are_left_does_not_answer_for_itself(form: str) -> None:
    """Break: what a version says counts wherever its file lies, so that the late one passes for the first decision."""
    store = MemoryStore()
    settings = {"state.format": form}
    new_table(store, interval=2, settings=settings).append([add_file("a")])

    def meanwhile(step: Step) -> Fault | None:
        if step.operation == "create" and step.key == version_key(2):
            others = opened(store, interval=2, settings=settings, ambient=SteadyAmbient("others"))
            for name in ("b", "c", "d"):
                others.append([add_file(name)])
            others.truncate_history()
            assert [store.head(version_key(number)) is None for number in (2, 3)] == [True, False]
        return None

    late = opened(FaultyStore(store, meanwhile), interval=2, settings=settings)
    assert version_of(late.append([add_file("late")])) == 5
    assert opened(store).snapshot().paths() == ["a.parquet", "b.parquet", "c.parquet", "d.parquet", "late.parquet"]


@pytest.mark.parametrize("form", ["avro", "json"])
def test_a_table_that_is_created_late_is_not_the_one_that_was_cleaned_meanwhile(form: str) -> None:
    """Break: version 0 has no predecessor, so whoever wrote it takes the table for its own."""
    store, settings = MemoryStore(), {"state.format": form}

    def meanwhile(step: Step) -> Fault | None:
        if step.operation == "create" and step.key == version_key(0):
            others = new_table(store, interval=1, settings=settings)
            others.append([add_file("a")])
            others.append([add_file("b")])
            others.truncate_history()
            assert store.head(version_key(0)) is None
        return None

    with pytest.raises(TableExists, match="another program has just created a table"):
        new_table(FaultyStore(store, meanwhile))
    assert version_of(opened(store).append([add_file("c")])) == 3
    assert opened(store).snapshot().paths() == ["a.parquet", "b.parquet", "c.parquet"]


def test_a_table_that_others_have_long_written_to_when_its_creator_hears_of_it_is_its_own() -> None:
    """Break: whatever else is in the log says that version 0 came late."""
    store = MemoryStore()

    def meanwhile(step: Step) -> Fault | None:
        if step.operation == "list_folder" and store.head(version_key(0)) is not None:
            others = opened(store, interval=1)
            if others.version == 0:
                others.append([add_file("a")])
                others.append([add_file("b")])
        return None

    table = new_table(FaultyStore(store, meanwhile))
    assert table.snapshot().paths() == ["a.parquet", "b.parquet"]
