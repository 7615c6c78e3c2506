"""Where settings come from and which one counts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headgate.settings.committer_settings import DEFAULT_GROUP as COMMITTER_GROUP
from headgate.settings.health_limits import WORKER_LIMITS, HealthLimits
from headgate.settings.listen_address import ListenAddress
from headgate.settings.loading import load_settings, table_setting_key
from headgate.settings.worker_settings import DEFAULT_GROUP as WORKER_GROUP
from headgate.settings.worker_settings import ROLES
from headgate_schemas.errors import InvalidInput
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.limits import WorkerLimits
from headgate_worker.loop import worker
from headgate_worker.serving import ROLES as MAKERS
from support.merging import COLUMNS, append_small


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADGATE_CONFIG", "HEADGATE_BUS", "HEADGATE_ROOTS", "HEADGATE_LISTEN"):
        monkeypatch.delenv(name, raising=False)


def _file(folder: Path, text: str) -> Path:
    path = folder / "headgate.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_any_there_are_only_defaults() -> None:
    found = load_settings({}, {}, None)
    assert (found.store, found.table) == (StoreSettings(), {})


def test_an_option_beats_the_environment_which_beats_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever name each of them uses for the same setting."""
    path = _file(tmp_path, '[store]\ns3.region = "file"\ns3.profile = "file"\n"aws.endpoint" = "file"\n')
    monkeypatch.setenv("HEADGATE_STORE_S3_PROFILE", "environment")
    monkeypatch.setenv("HEADGATE_STORE_S3_ENDPOINT", "environment")
    found = load_settings({"spark.indextables.aws.endpoint": "option"}, {}, path).store
    assert (found.s3_region, found.s3_profile, found.s3_endpoint) == ("file", "environment", "option")


def test_table_settings_are_layered_by_meaning_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _file(
        tmp_path,
        '[table]\nindextables.checkpoint.interval = 2\nstate.compression = "snappy"\n"state.retention.versions" = 5\n',
    )
    monkeypatch.setenv("HEADGATE_CHECKPOINT_INTERVAL", "3")
    monkeypatch.setenv("HEADGATE_STATE_COMPRESSION", "none")
    found = load_settings({}, {"spark.headgate.checkpoint.interval": "4"}, path).table
    assert found == {"checkpoint.interval": "4", "state.compression": "none", "state.retention.versions": "5"}


def test_the_environment_can_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_CONFIG", str(_file(tmp_path, "[store]\nlocal.durable = false\n")))
    assert load_settings({}, {}, None).store.local_durable is False


def test_a_named_file_replaces_the_one_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_CONFIG", str(tmp_path / "missing.toml"))
    path = _file(tmp_path, '[store]\ns3.region = "here"\n')
    assert load_settings({}, {}, path).store.s3_region == "here"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[store\n", "no valid TOML"),
        ("[stores]\nx = 1\n", "stores"),
        ("store = 3\n", "store"),
        ("[store]\ns3.regoin = 'x'\n", "s3.regoin"),
        ("[table]\ncheckpoint.interval = 'often'\n", "often"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(InvalidInput, match=said):
        load_settings({}, {}, path)


@pytest.mark.parametrize(
    "given",
    [
        "state.entriesPerManifest",
        "indextables.state.entriesPerManifest",
        "spark.indextables.state.entriesPerManifest",
        "spark.headgate.state.entriesPerManifest",
        "STATE_ENTRIES_PER_MANIFEST",
        "state.entries-per-manifest",
    ],
)
def test_a_table_setting_has_many_spellings(given: str) -> None:
    assert table_setting_key(given) == "state.entriesPerManifest"


def test_other_variables_of_ours_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_REAL_TABLES", "elsewhere")
    assert load_settings({}, {}, None).table == {}


def test_without_a_bus_commits_are_direct() -> None:
    assert load_settings({}, {}, None).bus is None


def test_the_bus_comes_from_the_option_then_the_environment_then_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _file(tmp_path, '[bus]\naddress = "sqlite:/file.db"\n')
    found = [load_settings({}, {}, path).bus]
    monkeypatch.setenv("HEADGATE_BUS", "sqlite:/environment.db")
    found += [load_settings({}, {}, path).bus, load_settings({}, {}, path, bus="sqlite:/option.db").bus]
    assert found == ["sqlite:/file.db", "sqlite:/environment.db", "sqlite:/option.db"]


def test_an_empty_bus_means_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_BUS", "")
    assert load_settings({}, {}, _file(tmp_path, '[bus]\naddress = "sqlite:/file.db"\n')).bus is None


def test_settings_of_a_committer_are_layered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _file(
        tmp_path,
        '[committer]\nid = "file"\ngroup = "file"\nlog = "json"\ngroup-proposals = 7\nlinger_ms = 9\n'
        'roots = ["s3://lake", "/lake"]\n',
    )
    monkeypatch.setenv("HEADGATE_COMMITTER_GROUP", "environment")
    monkeypatch.setenv("HEADGATE_COMMITTER_GROUP_PROPOSALS", "8")
    found = load_settings({}, {}, path, committer={"group-proposals": "10", "claim-max-bytes": "1_000"}).committer
    assert (found.id, found.group, found.log.value, found.roots) == (
        "file",
        "environment",
        "json",
        ("s3://lake", "/lake"),
    )
    assert (found.limits.group_proposals, found.limits.linger_ms, found.limits.claims.max_bytes) == (10, 9, 1000)


def test_roots_in_the_environment_have_a_name_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_ROOTS", "s3://lake/a, /lake ,")
    assert load_settings({}, {}, None).committer.roots == ("s3://lake/a", "/lake")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"group-proposal": "1"}, "Did you mean 'group-proposals'"),
        ({"colour": "1"}, "Known are"),
        ({"group-proposals": "many"}, "group-proposals of the committer is 'many'"),
        ({"group-proposals": "0"}, "whole number from 1"),
        ({"linger-ms": "-1"}, "linger-ms"),
        ({"linger-ms": "٣"}, "linger-ms"),
        ({"id": "two words"}, "visible ASCII"),
        ({"id": ""}, "visible ASCII"),
        ({"log": "xml"}, "auto, console, json"),
        ({"roots": ",".join(map(str, range(1001)))}, "MAX_ROOTS"),
    ],
)
def test_a_setting_of_a_committer_that_makes_no_sense_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        load_settings({}, {}, None, committer=given)


def test_a_workers_settings_are_layered_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _file(
        tmp_path,
        '[worker]\nid = "file"\ngroup = "file"\nroles = ["clean", "compact"]\nlog = "json"\ncompact-delay-ms = 0\n',
    )
    monkeypatch.setenv("HEADGATE_WORKER_GROUP", "environment")
    monkeypatch.setenv("HEADGATE_WORKER_PARALLEL_TASKS", "4")
    monkeypatch.setenv("HEADGATE_WORKER_MERGE_COOLDOWN_MS", "7")
    given = {"parallel-tasks": "3", "receipt-s": "0.5", "watch": "s3://a/t, /b", "clean-at-once-after": "compactstate"}
    found = load_settings({}, {}, path, worker=given).worker
    assert (found.id, found.group, found.roles, found.log.value) == (
        "file",
        "environment",
        ("compact", "clean"),
        "json",
    )
    assert (found.watch, found.limits.receipt_s, found.limits.schedule.parallel_tasks) == (("s3://a/t", "/b"), 0.5, 3)
    terms = found.limits.terms
    assert (terms["merge"].cooldown_ms, terms["compact"].delay_ms) == (7, 0)
    assert terms["clean"].at_once_after == {"CompactState"}
    assert terms["clean"].cooldown_ms == WorkerLimits().terms["clean"].cooldown_ms


def test_roots_in_the_environment_are_those_of_committers_and_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_ROOTS", "s3://lake")
    found = load_settings({}, {}, None)
    assert found.committer.roots == found.worker.roots == ("s3://lake",)


def test_where_to_listen_in_the_environment_is_said_to_committers_and_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_LISTEN", "0.0.0.0:8080")
    found = load_settings({}, {}, None)
    assert found.committer.listen == found.worker.listen == ListenAddress("0.0.0.0", 8080)


def test_nobody_listens_unless_told_to_and_none_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings({}, {}, None).committer.listen is None
    monkeypatch.setenv("HEADGATE_LISTEN", "0.0.0.0:8080")
    assert load_settings({}, {}, None, worker={"listen": "none"}).worker.listen is None


def test_the_limits_of_health_are_settings_with_defaults_of_each_process(tmp_path: Path) -> None:
    file = _file(tmp_path, "[committer]\nlisten = '127.0.0.1:1'\nlate-after-ms = 5\n[worker]\nstuck-after-ms = 7\n")
    found = load_settings({}, {}, file)
    assert found.committer.listen == ListenAddress("127.0.0.1", 1)
    assert found.committer.health == replace(HealthLimits(), late_after_ms=5)
    assert found.worker.health == replace(WORKER_LIMITS, stuck_after_ms=7)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no address to listen at"):
        load_settings({}, {}, None, committer={"listen": "everywhere"})


@pytest.mark.parametrize(
    ("roles", "group"),
    [
        ("compact,merge,clean,mirror", "headgate-worker"),
        ("merge", "headgate-worker-merge"),
        ("clean, compact", "headgate-worker-compact-clean"),
        ("compact,clean", "headgate-worker-compact-clean"),
    ],
)
def test_workers_of_fewer_roles_are_a_group_of_their_own(roles: str, group: str) -> None:
    """In one group with others they would leave undone at their tables what these do."""
    assert load_settings({}, {}, None, worker={"roles": roles}).worker.group == group


def test_a_group_that_is_named_is_the_group_whatever_the_roles() -> None:
    assert load_settings({}, {}, None, worker={"roles": "merge", "group": "mine"}).worker.group == "mine"


def test_the_roles_of_settings_are_those_that_there_are() -> None:
    assert tuple(MAKERS) == ROLES


def test_the_groups_of_settings_are_those_of_the_processes() -> None:
    assert (WORKER_GROUP, COMMITTER_GROUP) == (worker.DEFAULT_GROUP, worker.COMMITTER_GROUP)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"paralel-tasks": "1"}, "Did you mean 'parallel-tasks'"),
        ({"group-proposals": "1"}, "no setting 'group-proposals' of the worker"),
        ({"parallel-tasks": "0"}, "whole number from 1"),
        ({"merge-after-commits": "0"}, "whole number from 1"),
        ({"merge-cooldown-ms": "-1"}, "whole number from 0"),
        ({"receipt-s": "0"}, "seconds above 0"),
        ({"receipt-s": "1e3"}, "seconds above 0"),
        ({"roles": ""}, "names with commas between them, or none"),
        ({"roles": "compact,sweep"}, "has 'sweep', which is no role. Known are: compact, merge, clean"),
        ({"merge-at-once-after": "Appended"}, "Did you mean 'append'"),
        ({"watch": ",".join(map(str, range(1001)))}, "watch are 1001, more than the 1000"),
        ({"log": "xml"}, "auto, console, json"),
    ],
    ids=str,
)
def test_a_setting_of_a_worker_that_makes_no_sense_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        load_settings({}, {}, None, worker=given)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("HEADGATE_COMMITTER_GRUOP", "Did you mean 'group'"),
        ("HEADGATE_COMMITTER", "HEADGATE_STORE_S3_ENDPOINT"),
        ("HEADGATE_WORKER_ROLS", "Did you mean 'roles'"),
        ("HEADGATE_WORKER", "HEADGATE_STORE_S3_ENDPOINT"),
    ],
)
def test_a_mistyped_variable_of_a_process_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(InvalidInput, match=said):
        load_settings({}, {}, None)


@pytest.mark.parametrize(
    "text", ['[bus]\nadress = "x"\n', "[bus]\naddress = 3\n", "[committer]\ngruop = 'x'\n", "[worker]\ngruop = 'x'\n"]
)
def test_a_mistyped_bus_or_committer_in_a_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"adress|bus\.address|gruop"):
        load_settings({}, {}, _file(tmp_path, text))


@pytest.mark.parametrize("home", ["/somewhere/data", ""])
def test_a_bus_of_ones_own_lies_in_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", home)
    expected = Path(home) if home else tmp_path / ".local/share"
    assert load_settings({}, {}, None).own_bus == expected / "headgate/bus.db"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HEADGATE_ROOT", "HEADGATE_ROOTS"),
        ("HEADGATE_BUSS", "HEADGATE_BUS"),
        ("HEADGATE_BUS_ADDRESS", "HEADGATE_BUS"),
        ("HEADGATE_CONFG", "HEADGATE_CONFIG"),
    ],
)
def test_a_variable_that_nearly_names_a_setting_is_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(InvalidInput, match=f"{name}, which is no setting. Did you mean {meant}[?]"):
        load_settings({}, {}, None)


@pytest.mark.parametrize("name", ["HEADGATE_TEST_KAFKA", "HEADGATE_IMAGE_TAG", "HEADGATE_KAFKA_PORT"])
def test_variables_of_tests_and_deployments_are_passed_over(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    assert load_settings({}, {}, None).bus is None


def test_settings_that_contradict_each_other_are_refused(headgate: Any, sales: Path) -> None:
    given = ("--set", "purgeOnWrite.enabled=true", "--set", "purgeOnWrite.triggerAfterMerge=false")
    ran = headgate("table", "describe", sales, *given)
    assert (ran.code, ran.out) == (1, "")
    assert "can't all be meant: purgeOnWrite.enabled is true, but" in ran.err


def test_a_misspelt_setting_of_maintenance_is_met_with_the_nearest(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "merge", sales, "--set", "mergeOnWrite.enable=true")
    assert ran.code == 1
    assert "Did you mean 'mergeOnWrite.enabled'?" in ran.err


def test_a_table_is_not_made_with_a_misspelt_setting_of_maintenance(headgate: Any, tmp_path: Path) -> None:
    ran = headgate(
        *("table", "create", tmp_path / "t", "--schema", "id bigint"),
        *("--config", "indextables.purgeOnWrite.triggerAfterWrite=3"),
    )
    assert ran.code == 1
    assert "did you mean purgeOnWrite.triggerAfterWrites?" in ran.err
    assert not (tmp_path / "t").exists()


def test_settings_of_maintenance_are_understood_in_the_environment(
    headgate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_small(Table.create(str(tmp_path / "t"), COLUMNS), 4)
    monkeypatch.setenv("HEADGATE_MERGE_MAX_SOURCE_SPLITS_PER_MERGE", "2")
    ran = headgate("table", "merge", tmp_path / "t", "--format", "json")
    assert (ran.code, ran.json["merge_groups"]) == (0, 2)


def test_a_worker_may_be_told_to_merge_on_spark() -> None:
    given = {"spark": "sc://cluster:15002", "spark-settings": "spark.executor.memory=4g, spark.task.cpus=2"}
    found = load_settings({}, {}, None, worker=given).worker
    assert found.spark == "sc://cluster:15002"
    assert found.spark_settings == {"spark.executor.memory": "4g", "spark.task.cpus": "2"}


def test_a_setting_of_spark_without_a_value_is_refused() -> None:
    with pytest.raises(InvalidInput, match="spark-settings of the worker is 'memory'; it takes name=value"):
        load_settings({}, {}, None, worker={"spark-settings": "memory"})
