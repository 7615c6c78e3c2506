"""Settings for maintenance that nobody can mean: refused where they are set, and never in the way of commits."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Alter, Committed, RejectCode, Rejected
from headgate_table.settings.option_conflicts import contradiction, unknown_setting
from headgate_table.settings.options import table_options
from headgate_table.table import Table
from support.stores.memory import MemoryStore
from support.tables import files, new_table

CONTRADICTIONS = [
    ({"merge.minSources": "9", "merge.maxSourceSplitsPerMerge": "8"}, "merge.minSources is 9"),
    (
        {"mergeOnWrite.minSplitsToMerge": "9", "merge.maxSourceSplitsPerMerge": "8"},
        "mergeOnWrite.minSplitsToMerge is 9",
    ),
    ({"purgeOnWrite.enabled": "true", "purgeOnWrite.triggerAfterMerge": "false"}, "it would never clean"),
    ({"purgeOnWrite.enabled": "true", "purgeOnWrite.splitRetentionHours": "23"}, "at least 24 are needed"),
]


def set_on(table: Table, configuration: Mapping[str, str | None]) -> Committed | Rejected:
    receipt = table.commit(Alter(table.version, dict(configuration)))
    assert isinstance(receipt, Committed | Rejected)
    return receipt


@pytest.mark.parametrize(("configuration", "said"), CONTRADICTIONS)
def test_settings_that_contradict_each_other_are_said(configuration: dict[str, str], said: str) -> None:
    problem = contradiction(table_options(configuration))
    assert problem is not None
    assert said in problem


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"merge.minSources": "8", "merge.maxSourceSplitsPerMerge": "8"},
        {"merge.maxSourceSplitsPerMerge": "2"},
        {"purgeOnWrite.enabled": "true"},
        {"purgeOnWrite.triggerAfterMerge": "false"},
        {
            "purgeOnWrite.enabled": "true",
            "purgeOnWrite.triggerAfterMerge": "false",
            "purgeOnWrite.triggerAfterWrites": "1",
        },
        {"purgeOnWrite.splitRetentionHours": "0"},
        {
            "purgeOnWrite.enabled": "true",
            "purgeOnWrite.splitRetentionHours": "0",
            "purge.retentionCheckEnabled": "false",
        },
    ],
)
def test_settings_that_go_together_are_no_contradiction(configuration: dict[str, str]) -> None:
    assert contradiction(table_options(configuration)) is None


@pytest.mark.parametrize("configuration", [given for given, _ in CONTRADICTIONS])
def test_a_table_is_not_made_with_a_contradiction(configuration: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        new_table(MemoryStore(), configuration=configuration)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("indextables.mergeOnWrite.enable", "did you mean mergeOnWrite.enabled?"),
        ("headgate.purgeOnWrite.triggerAfterWrite", "did you mean purgeOnWrite.triggerAfterWrites?"),
        ("merge.targetsize.bytes", "did you mean merge.targetSize?"),
        ("spark.indextables.merge.zzzzzzzzzzzzzzz", "there are merge.targetSize, "),
    ],
)
def test_a_setting_that_there_is_not_is_met_with_the_nearest(key: str, hint: str) -> None:
    problem = unknown_setting({key: "1"})
    assert problem is not None
    assert problem.startswith(f"there is no setting {key}; ")
    assert hint in problem


@pytest.mark.parametrize(
    "key", ["mergeOnWrite.batchCpuFraction", "delta.merge.x", "owner", "mergeonwrite.ENABLED", "mergers.hired"]
)
def test_keys_of_other_programs_are_left_alone(key: str) -> None:
    assert unknown_setting({key: "1"}) is None


def test_a_key_may_be_taken_away_whatever_it_is_called() -> None:
    assert unknown_setting({"mergeOnWrite.enable": None}) is None


def test_an_alter_that_contradicts_what_is_set_is_refused() -> None:
    table = new_table(configuration={"purgeOnWrite.enabled": "true"})
    receipt = set_on(table, {"indextables.purgeOnWrite.triggerAfterMerge": "false"})
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.INVALID
    assert "it would never clean" in receipt.reason


def test_an_alter_with_a_misspelt_setting_is_refused() -> None:
    receipt = set_on(new_table(), {"indextables.mergeOnWrite.enable": "true"})
    assert isinstance(receipt, Rejected)
    assert "did you mean" in receipt.reason


def test_two_settings_may_change_together() -> None:
    table = new_table(configuration={"purgeOnWrite.enabled": "true"})
    change = {"purgeOnWrite.triggerAfterMerge": "false", "purgeOnWrite.triggerAfterWrites": "3"}
    assert isinstance(set_on(table, change), Committed)


def test_a_contradiction_from_elsewhere_stands_in_nobodys_way() -> None:
    """Another program may have written it; a process may set one half of it."""
    table = new_table(settings={"purgeOnWrite.enabled": "true", "purgeOnWrite.triggerAfterMerge": "false"})
    assert isinstance(table.append(files("p", 1)), Committed)
    assert isinstance(set_on(table, {"owner": "me"}), Committed)


@pytest.mark.parametrize("key", ["headgate.checkpoint.intervall", "headgate.whatever", "spark.headgate.x", "headgate."])
def test_a_key_with_our_prefix_that_names_no_setting_is_refused(key: str) -> None:
    """Break: a slip of the pen is stored, and the setting that was meant keeps its default."""
    table = new_table()
    refused = set_on(table, {key: "5"})
    assert isinstance(refused, Rejected)
    assert f"there is no setting {key}" in refused.reason
    with pytest.raises(InvalidInput, match="there is no setting"):
        Table.create("memory", "id BIGINT", configuration={key: "5"})


def test_a_slip_of_the_pen_is_told_what_was_meant() -> None:
    assert unknown_setting({"headgate.checkpoint.intervall": "5"}) == (
        "there is no setting headgate.checkpoint.intervall; did you mean checkpoint.interval?"
    )


@pytest.mark.parametrize("key", ["delta.appendOnly", "indextables.indexing.fields", "owner", "HEADGATE.x"])
def test_keys_of_other_programs_are_stored_as_they_are(key: str) -> None:
    table = new_table()
    assert isinstance(set_on(table, {key: "5"}), Committed)
    assert table.metadata.configuration[key] == "5"


def test_a_table_is_opened_with_settings_that_there_are(tmp_path: Path) -> None:
    Table.create(tmp_path, "id BIGINT")
    assert Table.open(tmp_path, settings={"headgate.checkpoint.interval": "3"}).options.checkpoint_interval == 3
    with pytest.raises(InvalidInput, match=r"there is no setting nope; there are"):
        Table.open(tmp_path, settings={"nope": "1"})
