"""Sessions of boto3: what they share, and what they don't."""

from pathlib import Path

import botocore.loaders
import pytest

from headgate_table.store.s3.session import new_session
from headgate_table.store.settings import StoreSettings

SETTINGS = StoreSettings(s3_access_key="key", s3_secret_key="secret", s3_region="eu-central-1")


def test_what_a_service_is_is_read_once_for_all_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `new_session` leaves botocore its own loader."""
    new_session(SETTINGS).client("s3")
    read: list[str] = []
    monkeypatch.setattr(botocore.loaders.JSONFileLoader, "load_file", lambda _, path: read.append(path))
    new_session(SETTINGS).client("s3")
    assert read == []


def test_each_session_has_its_own_credentials_and_region() -> None:
    first, second = new_session(SETTINGS), new_session(StoreSettings(s3_access_key="other", s3_secret_key="hush"))
    assert (first.get_credentials().access_key, first.region_name) == ("key", "eu-central-1")
    assert (second.get_credentials().access_key, second.region_name) == ("other", None)


def test_a_profile_decides_where_descriptions_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text(f"[profile lake]\nregion = eu-west-3\ndata_path = {tmp_path}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    session = new_session(StoreSettings(s3_profile="lake"))
    assert session.region_name == "eu-west-3"
    assert str(tmp_path) in session._session.get_component("data_loader").search_paths
