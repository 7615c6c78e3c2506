"""Every spelling of a table's address becomes one."""

from pathlib import Path

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.store.addresses import table_address


@pytest.mark.parametrize(
    "spelling",
    ["{}", "{}/", "file://{}", "file://{}/", "file:{}", "FILE://localhost{}", "{}/../events", "file://{}/%2E"],
)
def test_a_local_table_is_known_by_its_plain_path(tmp_path: Path, spelling: str) -> None:
    place = tmp_path / "events"
    place.mkdir()
    assert table_address(spelling.format(place)) == str(place.resolve())


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert table_address("events") == str((tmp_path / "events").resolve())


def test_a_symbolic_link_leads_to_the_table_itself(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "events")
    assert table_address(str(tmp_path / "link")) == table_address(str(tmp_path / "events"))


@pytest.mark.parametrize(
    ("spelling", "address"),
    [
        ("s3n://lake/a/b/", "s3://lake/a/b"),
        ("s3a://lake", "s3://lake"),
        ("azure://box/a", "az://box/a"),
        ("wasbs://box@Account.blob.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
        ("ABFS://box@account.DFS.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
        ("abfss://box@account.dfs.core.windows.net/a//", "abfss://box@account.dfs.core.windows.net/a"),
        ("memory://test", "memory://test"),
    ],
)
def test_other_addresses_keep_their_parts(spelling: str, address: str) -> None:
    assert table_address(spelling) == address
    assert table_address(address) == address


@pytest.mark.parametrize("text", ["", " ", "a\0b", "s3://", "s3:///a", "file://host/a"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        table_address(text)
