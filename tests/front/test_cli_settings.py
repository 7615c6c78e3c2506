"""Where settings come from and which one counts."""

from pathlib import Path

import pytest

from headgate.settings import load_settings, table_setting_key
from headgate_schemas.errors import InvalidInput
from headgate_table.store.settings import StoreSettings


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADGATE_CONFIG", "HEADGATE_BUS", "HEADGATE_ROOTS"):
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


@pytest.mark.parametrize(
    ("name", "said"),
    [("HEADGATE_COMMITTER_GRUOP", "Did you mean 'group'"), ("HEADGATE_COMMITTER", "HEADGATE_STORE_S3_ENDPOINT")],
)
def test_a_mistyped_variable_of_the_committer_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    monkeypatch.setenv(name, "x")
    with pytest.raises(InvalidInput, match=said):
        load_settings({}, {}, None)


@pytest.mark.parametrize("text", ['[bus]\nadress = "x"\n', "[bus]\naddress = 3\n", "[committer]\ngruop = 'x'\n"])
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
