"""The page of settings says what the code does, every spelling on it is understood, and every setting does something."""

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from headgate.settings.committer_settings import KEYS, CommitterSettings
from headgate.settings.health_limits import HealthLimits
from headgate.settings.loading import Settings, load_settings
from headgate.settings.worker_settings import KEYS as WORKER_KEYS
from headgate.settings.worker_settings import ROLES, TERMS, WorkerSettings
from headgate_bus.claims import ClaimLimits
from headgate_bus.kafka.address import ALL_SETTINGS
from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import InvalidInput
from headgate_table.settings.options import SETTINGS, Setting, TableOptions, table_options
from headgate_table.store.settings import DOCUMENTED_KEYS
from headgate_table.table import Table
from headgate_worker.limits import RoleTerms, ScheduleLimits, WorkerLimits
from pyspark_headgate.effective_settings import effective
from pyspark_headgate.options import SourceOptions
from tooling.pages.settings_page import by_subject, page
from tooling.pages.settings_rows import (
    STORE_MEANINGS,
    Process,
    Row,
    SpecSetting,
    meanings,
    process_spellings,
    processes,
    spec_settings,
    store_rows,
    table_rows,
)

KINDS = {CommitterSettings: ("health",), CommitterLimits: ("claims",), ClaimLimits: (), HealthLimits: ()}
"""The classes of a committer's settings, with the fields that are such classes themselves."""
WORKER_KINDS = (WorkerSettings, WorkerLimits, ScheduleLimits, RoleTerms, HealthLimits)

ROOT = Path(__file__).resolve().parents[2]
PAGE = page()
USERS = [path for path in (ROOT / "table").rglob("*.py") if not path.name.startswith("option")]
USERS += [path for room in ("worker", "front") for path in (ROOT / room).rglob("*.py")]
USING = "\n".join(path.read_text(encoding="utf-8") for path in USERS)
"""What may use a table's settings."""

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
OTHER_VALUE_OF = {
    "mirror.formats": "delta",
    "mergeOnWrite.minSplitsToMerge": "7",
    "purgeOnWrite.splitRetentionHours": "48",
}
NONSENSE = {"merge.sortColumns": "a,,b"}
"""What makes no sense for settings that take nearly every text."""


def other_value(setting: Setting) -> str:
    if setting.key in OTHER_VALUE_OF:
        return OTHER_VALUE_OF[setting.key]
    default = str(getattr(TableOptions(), setting.field)).lower()
    return OTHER_VALUES.get(default, "0.5" if "." in default else "7")


def test_the_page_of_settings_is_what_the_code_says() -> None:
    assert (ROOT / "docs/settings.md").read_text() == PAGE


def test_every_option_is_a_setting_and_every_setting_an_option() -> None:
    assert sorted(setting.field for setting in SETTINGS) == sorted(field.name for field in fields(TableOptions))


def test_the_section_of_others_is_empty() -> None:
    """A setting that lands there wants a section in `settings_page.SUBJECTS`."""
    assert "Others" not in by_subject()


SPEC = spec_settings()
KNOWN = {setting.key: setting for setting in SETTINGS}


@pytest.mark.parametrize("named", SPEC, ids=lambda named: named.key)
def test_a_setting_of_the_specification_is_one_of_ours_or_explained(named: SpecSetting) -> None:
    assert (named.key in KNOWN) is not bool(named.reason)
    assert f"| `{named.key}` |" in PAGE


@pytest.mark.parametrize("named", [named for named in SPEC if not named.reason], ids=lambda named: named.key)
def test_a_setting_of_the_specification_has_the_specified_default(named: SpecSetting) -> None:
    setting = KNOWN[named.key]
    assert setting.parse(named.default) == getattr(TableOptions(), setting.field)


def test_the_specification_has_these_many_settings() -> None:
    assert len({named.key for named in SPEC}) == len(SPEC) == 38
    assert sum(not named.reason for named in SPEC) == 30


TABLE_ROWS = [row for _, row in table_rows()]


@pytest.mark.parametrize("row", TABLE_ROWS, ids=lambda row: row.key)
def test_the_spellings_of_a_tables_setting_are_understood(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = other_value(KNOWN[row.key])
    wanted = table_options({row.key: value})
    monkeypatch.setenv(row.spelled.environment, value)
    assert table_options(load_settings({}, {}, None).table) == wanted
    monkeypatch.delenv(row.spelled.environment)
    assert table_options(load_settings({}, {}, toml(tmp_path, "table", row.spelled.toml, value)).table) == wanted
    given = load_settings({}, dict([said(row.spelled.option, "--set", value)]), None)
    assert table_options(given.table) == wanted
    assert table_options(effective(SourceOptions.of({row.spelled.spark: value})).table) == wanted
    assert not row.spelled.table or table_options({row.spelled.table: value}) == wanted


@pytest.mark.parametrize("row", list(store_rows()), ids=lambda row: row.key)
def test_the_spellings_of_a_stores_setting_are_understood(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "false" if row.takes == "true or false" else "x"
    wanted = load_settings({row.key: value}, {}, None).store
    assert wanted != load_settings({}, {}, None).store
    monkeypatch.setenv(row.spelled.environment, value)
    assert load_settings({}, {}, None).store == wanted
    monkeypatch.delenv(row.spelled.environment)
    assert load_settings({}, {}, toml(tmp_path, "store", row.spelled.toml, value)).store == wanted
    assert load_settings(dict([said(row.spelled.option, "--store", value)]), {}, None).store == wanted
    assert effective(SourceOptions.of({row.spelled.spark: value})).store == wanted


PROCESS_KEYS = [(process, key) for process in processes() for key in process.keys]


@pytest.mark.parametrize(("process", "key"), PROCESS_KEYS, ids=lambda each: getattr(each, "name", each))
def test_the_spellings_of_a_processs_setting_are_understood(
    process: Process, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spelled = process_spellings(process, key)
    value = process_value(process, key)
    wanted = process.read({key: value})
    assert wanted != process.read({})
    for name in spelled.environment.split(", "):
        monkeypatch.setenv(name, value)
        assert getattr(load_settings({}, {}, None), process.name) == wanted
        monkeypatch.delenv(name)
    path = toml(tmp_path, process.name, spelled.toml, value)
    assert getattr(load_settings({}, {}, path), process.name) == wanted


def test_the_bus_is_understood_as_it_is_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "sqlite:bus.db"
    assert load_settings({}, {}, toml(tmp_path, "bus", "address", address)).bus == address
    monkeypatch.setenv("HEADGATE_BUS", address)
    assert load_settings({}, {}, None).bus == address
    monkeypatch.setenv("HEADGATE_BUS", "")
    for options in ({"spark.headgate.bus": address}, {"bus": address}):
        assert effective(SourceOptions.of(options)).bus == address


def test_the_page_names_every_setting_of_a_kafka_address() -> None:
    assert [name for name in ALL_SETTINGS if f"| `{name}` |" not in PAGE] == []


def test_every_kind_of_process_has_a_section() -> None:
    kinds = {
        name for name, field in Settings.model_fields.items() if is_dataclass(field.annotation) and name != "store"
    }
    assert kinds == {process.name for process in processes()} >= {"committer", "worker"}
    assert [name for name in kinds if f"\n## {name.capitalize()}\n" not in PAGE] == []


def test_what_is_a_processs_alone_does_not_come_from_a_table(tmp_path: Path) -> None:
    """Whoever writes a table's configuration would otherwise choose folders on the machines that read it."""
    folder = tmp_path / "chosen"
    table = Table.create(
        str(tmp_path / "t"), "id BIGINT", configuration={"headgate.transaction.cache.diskFolder": str(folder)}
    )
    Table.open(table.uri).snapshot().files()
    assert not folder.exists()


def toml(folder: Path, group: str, key: str, value: str) -> Path:
    path = folder / "headgate.toml"
    path.write_text(f'[{group}]\n{key} = "{value}"\n')
    return path


def said(option: str, name: str, value: str) -> tuple[str, str]:
    """The pair that an option of the command says."""
    begins, key = option.removesuffix("=…").split(" ")
    assert begins == name
    return key, value


TRIED = ("7", "Restore", "merge", "json", "spark.task.cpus=2", "127.0.0.1:8081", "a-token-of-the-tests")


def process_value(process: Process, key: str) -> str:
    """A text that this setting takes, and that isn't its default."""
    for text in TRIED:
        try:
            if process.read({key: text}) != process.read({}):
                return text
        except InvalidInput:
            continue
    raise AssertionError(f"{process.name} takes none of {TRIED} for {key}: add one that it does")


LIMITS_USED: Sequence[type] = (CommitterLimits, ClaimLimits, WorkerLimits, ScheduleLimits, RoleTerms)


@pytest.mark.parametrize("kind", LIMITS_USED, ids=lambda kind: kind.__name__)
def test_every_bound_of_a_process_is_used_somewhere(kind: type) -> None:
    rooms = ("bus", "committer", "worker", "front", "table")
    sources = (
        "\n".join(
            path.read_text()
            for room in rooms
            for path in (ROOT / room).rglob("*.py")
            if not path.name.endswith(("limits.py", "_settings.py"))
        )
        + (ROOT / "bus/headgate_bus/claims.py").read_text()
    )
    assert [field.name for field in fields(kind) if not re.search(rf"\.{field.name}\b", sources)] == []


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_is_used_somewhere(setting: Setting) -> None:
    uses = {"state_compression": ".codec"}.get(setting.field, f".{setting.field}")
    assert re.search(rf"{re.escape(uses)}\b", USING)


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


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_committers_settings_is_a_setting_and_explained(kind: type) -> None:
    names = {field.name for field in fields(kind)} - {"limits", *KINDS[kind]}
    assert names <= {key.removeprefix("claim-").replace("-", "_") for key in KEYS}
    assert names <= set(meanings(kind))


@pytest.mark.parametrize("kind", WORKER_KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_workers_settings_is_a_setting_and_explained(kind: type) -> None:
    names = {field.name for field in fields(kind)} - {"limits", "schedule", "terms", "health"}
    own = {key.replace("-", "_") for key in WORKER_KEYS if key not in TERMS}
    assert names <= (own if kind is not RoleTerms else {name for _, name in TERMS.values()})
    assert names <= set(meanings(kind))


def test_every_role_has_terms_that_can_be_set() -> None:
    assert {role for role, _ in TERMS.values()} == set(ROLES)
