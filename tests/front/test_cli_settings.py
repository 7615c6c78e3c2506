"""Where settings come from and which one counts."""

from pathlib import Path

import pytest

from headgate.settings import load_settings, table_setting_key
from headgate_schemas.errors import InvalidInput
from headgate_table.store.settings import StoreSettings


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADGATE_CONFIG", raising=False)


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
