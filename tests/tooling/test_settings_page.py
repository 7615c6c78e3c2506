"""The page of settings says what the code does, and every setting does something."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from headgate.coordinator_settings import KEYS, CommitterSettings, committer_settings
from headgate.worker_settings import KEYS as WORKER_KEYS
from headgate.worker_settings import ROLES, TERMS, WorkerSettings, worker_settings
from headgate_bus.claims import ClaimLimits
from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.options import SETTINGS, Setting, TableOptions, table_options
from headgate_table.store.settings import DOCUMENTED_KEYS
from headgate_worker.limits import RoleTerms, ScheduleLimits, WorkerLimits
from tooling.settings_page import STORE_MEANINGS, meanings, page

KINDS = {CommitterSettings: (), CommitterLimits: ("claims",), ClaimLimits: ()}
"""The classes of a committer's settings, with the fields that are such classes themselves."""
WORKER_KINDS = (WorkerSettings, WorkerLimits, ScheduleLimits, RoleTerms)

ROOT = Path(__file__).resolve().parents[2]

OTHER_VALUES = {
    "": "/var/cache/headgate",
    "true": "false",
    "false": "true",
    "avro": "json",
    "zstd": "none",
    "200000": "5000",
    "none": "5000000",
    "67108864": "5000000",
    "source": "gzip",
    "()": "a,b",
}
OTHER_VALUE_OF = {"mergeOnWrite.minSplitsToMerge": "7", "purgeOnWrite.splitRetentionHours": "48"}
NONSENSE = {"merge.sortColumns": "a,,b"}
"""What makes no sense for settings that take nearly every text."""


def other_value(setting: Setting) -> str:
    if setting.key in OTHER_VALUE_OF:
        return OTHER_VALUE_OF[setting.key]
    default = str(getattr(TableOptions(), setting.field)).lower()
    return OTHER_VALUES.get(default, "0.5" if "." in default else "7")


def test_the_page_of_settings_is_what_the_code_says() -> None:
    assert (ROOT / "docs/settings.md").read_text() == page()


def test_every_option_is_a_setting_and_every_setting_an_option() -> None:
    assert sorted(setting.field for setting in SETTINGS) == sorted(field.name for field in fields(TableOptions))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_is_used_somewhere(setting: Setting) -> None:
    sources = [path for path in (ROOT / "table").rglob("*.py") if not path.name.startswith("option")]
    sources += [path for room in ("worker", "front") for path in (ROOT / room).rglob("*.py")]
    uses = {"state_compression": ".codec"}.get(setting.field, f".{setting.field}")
    assert any(uses in path.read_text() for path in sources)


@pytest.mark.parametrize("prefix", ["", "indextables.", "headgate.", "spark.indextables.", "spark.headgate."])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_setting_is_understood_under_every_prefix(setting: Setting, prefix: str) -> None:
    options = table_options({prefix + setting.key: other_value(setting)})
    assert getattr(options, setting.field) != getattr(TableOptions(), setting.field)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_value_that_makes_no_sense_is_refused_by_name(setting: Setting) -> None:
    text = NONSENSE.get(setting.key, "what?")
    with pytest.raises(InvalidInput, match=rf"the setting indextables\.{setting.key} is '{re.escape(text)}'; it takes"):
        table_options({f"indextables.{setting.key}": text})


def test_later_configurations_win() -> None:
    assert table_options({"checkpoint.interval": "3"}, {"headgate.checkpoint.interval": "5"}).checkpoint_interval == 5


def test_a_value_that_makes_no_sense_does_no_harm_once_it_is_overridden() -> None:
    assert table_options({"checkpoint.interval": "what?"}, {"checkpoint.interval": "5"}).checkpoint_interval == 5


def test_the_page_of_settings_names_every_setting_of_stores() -> None:
    assert set(STORE_MEANINGS) == set(DOCUMENTED_KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_of_a_committer_changes_something(key: str) -> None:
    text = {"log": "json"}.get(key, "7")
    assert committer_settings({key: text}) != committer_settings({})


@pytest.mark.parametrize("key", WORKER_KEYS)
def test_every_setting_of_a_worker_changes_something(key: str) -> None:
    text = {"log": "json", "roles": "merge", "spark-settings": "spark.task.cpus=2"}.get(
        key, "Restore" if key.endswith("at-once-after") else "7"
    )
    assert worker_settings({key: text}) != worker_settings({})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_committers_settings_is_a_setting_and_explained(kind: type) -> None:
    names = {field.name for field in fields(kind)} - {"limits", *KINDS[kind]}
    assert names <= {key.removeprefix("claim-").replace("-", "_") for key in KEYS}
    assert names <= set(meanings(kind))


@pytest.mark.parametrize("kind", WORKER_KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_workers_settings_is_a_setting_and_explained(kind: type) -> None:
    names = {field.name for field in fields(kind)} - {"limits", "schedule", "terms"}
    own = {key.replace("-", "_") for key in WORKER_KEYS if key not in TERMS}
    assert names <= (own if kind is not RoleTerms else {name for _, name in TERMS.values()})
    assert names <= set(meanings(kind))


def test_every_role_has_terms_that_can_be_set() -> None:
    assert {role for role, _ in TERMS.values()} == set(ROLES)
