"""The copy of the memory in the configuration: states carry it, nobody is shown it, nobody else sets it."""

import json
from dataclasses import replace

import pytest

from headgate_schemas.actions.actions import COORDINATOR_KEY, Metadata
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Alter, Create, RejectCode, Rejected
from headgate_table.indextables.format.names import checkpoint_key, state_key, version_key
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.format.version_file import decode_actions, encode_actions
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_table.table import Table
from support.logs.decided_logs import SOURCE, accepted, by_committer, fresh_reader, metadata, write_log
from support.logs.raw_log import RawLog
from support.stores.memory import MemoryStore
from support.tables import COLUMNS, SteadyAmbient, add_file, fresh_resources, new_table, opened


def coordinated(interval: int = 1, **settings: str) -> Table:
    """A table on which a committer has worked, with a state (or checkpoint) of the newest version."""
    store = MemoryStore()
    write_log(store, [by_committer(accepted("a"), next_offset=7, actions=[add_file("x")])])
    table = opened(store, interval=interval, settings={key.replace("__", "."): text for key, text in settings.items()})
    table.checkpoint()
    return table


def test_the_copy_stands_under_the_key_that_stored_tables_have() -> None:
    """In two halves, which no renaming of modules takes for a module of ours and rewrites together with the constant."""
    assert ".".join(("headgate", "coordinator")) == COORDINATOR_KEY


def raw_configuration(table: Table, version: int) -> dict[str, str]:
    configuration = json.loads(RawLog(table.store).state(version)["metadata"])["metaData"]["configuration"]
    assert isinstance(configuration, dict)
    return configuration


def test_a_state_carries_the_memory_and_its_floor() -> None:
    """Break: direct commits write states without them: the committer starts from nothing."""
    table = coordinated()
    state = RawLog(table.store).state(1)
    assert json.loads(state["coordinator"])["positions"] == [["cluster-a", "topic-a", 0, 7]]
    assert json.loads(raw_configuration(table, 1)[COORDINATOR_KEY])["positions"] == [["cluster-a", "topic-a", 0, 7]]


def test_a_compacted_state_carries_them_too() -> None:
    table = coordinated()
    table.append([add_file("y")])
    table.delete(paths=[add_file("x").path])
    version = table.compact().version  # type: ignore[union-attr]  # it is committed
    assert json.loads(RawLog(table.store).state(version)["coordinator"])["positions"][0][-1] == 7


def test_a_json_checkpoint_carries_the_floor() -> None:
    table = coordinated(state__format="json")
    found = [
        action for action in decode_actions(table.store.get(checkpoint_key(1)), "c") if isinstance(action, Metadata)
    ]
    assert found[0].coordinator is not None
    assert json.loads(found[0].coordinator)["positions"][0][-1] == 7


def test_a_json_checkpoint_gives_the_floor_back_after_a_later_change_of_metadata() -> None:
    """Break: the newest metadata hides what the checkpoint's carries."""
    from headgate_table.coordination.memory import MemoryLimits
    from headgate_table.indextables.recovery.memory_reader import recover

    table = coordinated(interval=100, state__format="json")
    table.alter(configuration={"owner": "ada"})
    table.store.delete([version_key(0), version_key(1)])
    reader = fresh_reader(table.store)
    assert recover(reader, reader.latest(), MemoryLimits()).position(SOURCE) == 7


def test_nobody_is_shown_the_floor() -> None:
    table = coordinated()
    fresh = opened(table.store)
    assert COORDINATOR_KEY not in fresh.metadata.configuration
    assert fresh.metadata.coordinator is None
    assert COORDINATOR_KEY not in repr(fresh.describe())
    assert COORDINATOR_KEY not in str(fresh.snapshot().metadata)
    report = fresh.verify(data_files=False)
    assert report.ok
    assert COORDINATOR_KEY not in str(report.findings)


def test_the_actions_of_the_log_are_shown_without_it() -> None:
    from headgate_table.indextables.history.describe_log import describe_log

    table = coordinated()
    rows = describe_log(table.reader).to_pylist()
    assert [row["metadata_configuration"] for row in rows if row["action_type"] == "metadata"] == ["{}"]


def test_no_version_file_of_ours_carries_it() -> None:
    """Break: `alter` starts from the metadata of the state as it lies there."""
    table = coordinated()
    opened(table.store).alter(configuration={"owner": "ada"})
    text = json.dumps(RawLog(table.store).actions(2))
    assert COORDINATOR_KEY not in text
    assert "ada" in text


def test_what_a_stranger_copied_into_a_version_is_stripped_and_still_counts() -> None:
    table = coordinated()
    copied = metadata({"owner": "rust"}, raw_configuration(table, 1)[COORDINATOR_KEY])
    table.store.put(version_key(2), encode_actions([copied]))
    assert COORDINATOR_KEY.encode() in encode_actions([copied], compressed=False)
    assert opened(table.store).metadata.configuration == {"owner": "rust"}


@pytest.mark.parametrize("value", ["{}", None])
@pytest.mark.parametrize("key", [COORDINATOR_KEY, f"{COORDINATOR_KEY}.memory"])
def test_alter_neither_sets_it_nor_takes_it_away(key: str, value: str | None) -> None:
    table = coordinated()
    answer = table.commit(Alter(based_on=1, configuration={key: value}))
    assert isinstance(answer, Rejected)
    assert answer.code is RejectCode.INVALID


def test_alter_sets_the_settings_of_the_memory() -> None:
    """Break: every key that begins like the committer's own is refused."""
    table = coordinated()
    table.alter(configuration={f"{COORDINATOR_KEY}.dedupe.window": "2d"})
    assert opened(table.store).options.dedupe_window_hours == 48


def test_no_table_is_created_with_it() -> None:
    create = Create(schema_string_of(COLUMNS), configuration={COORDINATOR_KEY: "{}"})
    with pytest.raises(InvalidInput, match="belongs to the committer"):
        create_table(LogReader(MemoryStore(), fresh_resources()), SteadyAmbient(), create)


def test_a_state_that_says_no_more_than_a_table_has_is_as_before() -> None:
    """A table without a committer has a floor that says so: strangers carry it along, and recovery knows where to look."""
    table = new_table(interval=1)
    table.append([add_file("a")])
    floor = json.loads(raw_configuration(table, 1)[COORDINATOR_KEY])
    assert (floor["term"], floor["positions"], floor["writers"]) == (None, [], [])


def test_direct_commits_after_a_foreign_state_bring_the_memory_back() -> None:
    """Break: a state is written with what the newest state held, not with what the table remembers."""
    table = coordinated()
    state = decode_state(table.store.get(state_key(1)), "state")
    table.store.put(state_key(1), encode_state(replace(state, coordinator=None), bytes(16)))
    opened(table.store, interval=1).append([add_file("y")])
    assert json.loads(RawLog(table.store).state(2)["coordinator"])["positions"][0][-1] == 7
