"""The roots of a process hold whole names only, under one spelling: what a stranger writes on the bus can't lead out of them."""

import os
import sys
import unicodedata
from pathlib import Path

import pytest

from headgate.settings.loading import load_settings
from headgate_committer.tables import NotServed, StoredTables
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import StoreError
from headgate_table.store.settings import StoreSettings
from headgate_worker.tables import ProposedTables, Proposing
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.tables import fresh_resources

STORES = StoreSettings(s3_region="us-east-1", s3_access_key="key", s3_secret_key="secret", local_durable=False)
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "s3://lake/café") for form in ("NFC", "NFD"))


def committers_answer(uri: str, *roots: str) -> str:
    """`served`, or why not."""
    try:
        StoredTables(STORES, fresh_resources(1), FakeAmbient(), roots).reader(uri)
    except NotServed as refused:
        return str(refused)
    return "served"


def worker_serves(uri: str, *roots: str) -> bool:
    ambient = FakeAmbient()
    proposing = Proposing(MemoryBus(ambient), STORES, ambient, "worker", 1, 1.0)
    return ProposedTables(STORES, fresh_resources(1), ambient, proposing, roots).serves(uri)


@pytest.mark.parametrize(
    ("root", "uri"),
    [
        ("s3://lake", "s3://lake/events"),
        ("s3://lake/", "s3://lake/events"),
        ("s3a://lake/team", "s3://lake/team"),
        ("s3://lake/team", "s3://lake/team/a/b"),
        ("S3://lake", "s3://lake/events"),
        ("s3://lake", "s3://lake/%2e%2e/events"),
        ("s3://lake", "s3://lake/..events"),
        (COMPOSED, f"{COMPOSED}/t"),
    ],
)
def test_what_lies_below_a_root_is_served(root: str, uri: str) -> None:
    assert committers_answer(uri, root) == "served"
    assert worker_serves(uri, root)


@pytest.mark.parametrize(
    ("root", "uri"),
    [
        ("s3://lake", "s3://lake-2/events"),
        ("s3://lake", "s3://lakeside/events"),
        ("s3://lake/team", "s3://lake/team-b/events"),
        ("s3://lake/team", "s3://lake/teams"),
        ("s3://lake/team", "s3://lake"),
        ("s3://lake/team", "s3://lake/Team/events"),
        ("s3://lake/team", "s3://lake/team./events"),
        ("s3://lake/team", "s3://lake/team%2Fevents"),
        ("s3://lake", "s3://LAKE/events"),
        ("s3://lake", "s3://lake./events"),
        ("s3://lake", "s3://lake%2Fevents/t"),
        ("s3://lake", "s3://lake?/events"),
        ("s3://lake", "s3://lake\\events"),
        ("s3://lake", "az://lake/events"),
        ("az://lake", "abfss://lake@theirs.dfs.core.windows.net/events"),
        ("abfss://lake@ours.dfs.core.windows.net", "abfss://lake@theirs.dfs.core.windows.net/events"),
        ("abfss://lake@ours.dfs.core.windows.net", "abfss://lake@ours.dfs.core.windows.net.evil.example/events"),
        (COMPOSED, f"{DECOMPOSED}/t"),
        ("/lake", "/lakes/events"),
        ("/lake", "/Lake/events"),
        ("/lake", "/lake./events"),
        ("/lake", "/etc"),
    ],
)
def test_a_name_that_only_looks_like_a_root_is_outside(root: str, uri: str) -> None:
    assert "lies outside of the roots" in committers_answer(uri, root)
    assert not worker_serves(uri, root)


@pytest.mark.parametrize(
    "uri",
    [
        "/lake/../etc",
        "/lake/./events",
        "/lake//events",
        "//lake/events",
        "/lake/events/",
        "file:///lake/events",
        "file:/lake/events",
        "file:///lake/%2e%2e/etc",
        "file:///lake%2f..%2fetc",
        "lake/events",
        "s3a://lake/events",
        "S3://lake/events",
        "s3://lake/events/",
        "s3://lake//events",
        "wasbs://lake@ours.blob.core.windows.net/events",
        "abfss://lake@OURS.dfs.core.windows.net/events",
    ],
)
def test_another_spelling_is_refused_even_if_it_means_a_place_below_a_root(uri: str) -> None:
    roots = ("/", "s3://lake", "abfss://lake@ours.dfs.core.windows.net")
    assert "is not the one spelling" in committers_answer(uri, *roots)
    assert not worker_serves(uri, *roots)


@pytest.mark.parametrize(
    "uri",
    ["s3://lake/../other/t", "s3://lake/team/../../other", "s3://lake/a/./t", "s3://lake/a//t", "s3://lake/a\\..\\b"],
)
def test_a_key_that_climbs_is_no_key_of_an_object_store(uri: str) -> None:
    assert "can't be used" in committers_answer(uri, "s3://lake")


@pytest.mark.parametrize("uri", ["", " ", "s3://", "s3:///t", "/lake/\0", "gopher://lake/t", "s3://user:pass@lake/t"])
def test_what_is_no_address_is_served_by_nobody(uri: str) -> None:
    assert committers_answer(uri, "/", "s3://lake", "gopher://lake") != "served"


def test_a_link_below_a_root_that_leads_out_of_it_is_refused(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "lake", tmp_path / "elsewhere"
    root.mkdir()
    (elsewhere / "t").mkdir(parents=True)
    (root / "link").symlink_to(elsewhere)
    for uri in (root / "link", root / "link/t"):
        assert "is not the one spelling" in committers_answer(str(uri), str(root))
        assert not worker_serves(str(uri), str(root))
    assert "lies outside of the roots" in committers_answer(str(elsewhere / "t"), str(root))


def test_a_root_that_is_a_link_means_the_folder_behind_it(tmp_path: Path) -> None:
    (tmp_path / "disk/t").mkdir(parents=True)
    (tmp_path / "lake").symlink_to(tmp_path / "disk")
    assert committers_answer(str(tmp_path / "disk/t"), str(tmp_path / "lake")) == "served"
    assert worker_serves(str(tmp_path / "disk/t"), str(tmp_path / "lake"))


def test_nothing_is_opened_outside_of_the_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a client, which would look for credentials: without its library, only what is inside is missed."""
    monkeypatch.delitem(sys.modules, "headgate_table.store.s3.store", raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setitem(sys.modules, "botocore", None)
    assert "lies outside of the roots" in committers_answer("s3://theirs/t", "s3://lake")


@pytest.mark.parametrize("text", [",", " , ,"])
def test_roots_of_commas_alone_are_no_way_to_serve_every_table(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_ROOTS", text)
    with pytest.raises(InvalidInput, match="roots of the committer is"):
        load_settings({}, {}, None)


@pytest.mark.parametrize("roots", [("lake",), ("other", "lake")], ids=["one root", "two roots"])
def test_a_root_that_is_away_is_an_outage(tmp_path: Path, roots: tuple[str, ...]) -> None:
    """Break: its tables are said to be unknown, to everybody who proposes to one."""
    with pytest.raises(StoreError, match=r"lake is no folder any more: is its disk mounted\?"):
        committers_answer(str(tmp_path / "lake/events"), *(str(tmp_path / root) for root in roots))


@pytest.mark.parametrize(
    "roots", [(), ("lake",), ("lake/events",)], ids=["without roots", "the root", "a table as the root"]
)
def test_a_root_that_is_a_file_just_now_is_an_outage(tmp_path: Path, roots: tuple[str, ...]) -> None:
    """Break: what waits for a disk that is not mounted is set aside."""
    (tmp_path / "lake").write_bytes(b"")
    with pytest.raises(StoreError, match="is its disk mounted"):
        committers_answer(str(tmp_path / "lake/events"), *(str(tmp_path / root) for root in roots))


@pytest.mark.parametrize("table", ["lake/file", "lake/file/t", "lake/file/a/b"])
def test_a_table_at_or_below_a_file_of_a_root_is_nobodys_table(tmp_path: Path, table: str) -> None:
    """Break: its proposals are waited for, and hold the bus, for ever."""
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake/file").write_bytes(b"")
    said = committers_answer(str(tmp_path / table), str(tmp_path / "lake"))
    assert f"{tmp_path}/lake/file is a file, not a folder" in said


def test_without_roots_a_table_in_the_place_of_a_file_is_nobodys_table(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert f"{tmp_path}/file is a file, not a folder" in committers_answer(str(tmp_path / "file"))


@pytest.mark.parametrize("roots", [(), ("lake",)])
def test_a_pipe_in_the_place_of_a_table_is_nobodys_table(tmp_path: Path, roots: tuple[str, ...]) -> None:
    """Break: a reader waits for ever for somebody who writes into it."""
    (tmp_path / "lake").mkdir()
    os.mkfifo(tmp_path / "lake/pipe")
    said = committers_answer(str(tmp_path / "lake/pipe"), *(str(tmp_path / root) for root in roots))
    assert "is a file, not a folder" in said
