"""From addresses and settings to stores, and the errors for those that can't be understood."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import FileInTheWay, StoreError
from headgate_table.store.azure.store import AzureStore
from headgate_table.store.local.store import LocalStore
from headgate_table.store.open import open_store
from headgate_table.store.s3.store import S3Store
from headgate_table.store.settings import DOCUMENTED_KEYS, StoreSettings
from headgate_table.table import Table

AMBIENT = SystemAmbient()
S3 = StoreSettings(s3_endpoint="http://127.0.0.1:1", s3_access_key="key", s3_secret_key="secret")
AZURE = StoreSettings(azure_account_name="acct", azure_account_key="c2VjcmV0")


def test_a_bare_path_is_a_local_store(tmp_path: Path) -> None:
    store = open_store(f"{tmp_path}/table/", StoreSettings(), AMBIENT)
    assert isinstance(store, LocalStore)
    assert (store.uri, store.local_path("k")) == (f"{tmp_path}/table", f"{tmp_path}/table/k")


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_store("table", StoreSettings(), AMBIENT).uri == str(tmp_path / "table")


@pytest.mark.parametrize("form", ["file://{}/a%20b", "file://localhost{}/a%20b", "file:{}/a%20b"])
def test_a_file_address_is_a_local_store(tmp_path: Path, form: str) -> None:
    store = open_store(form.format(tmp_path), StoreSettings(), AMBIENT)
    assert store.local_path("k") == f"{tmp_path}/a b/k"
    assert store.uri == form.format(tmp_path)


def test_a_file_address_with_a_host_is_refused() -> None:
    with pytest.raises(InvalidInput, match="three slashes"):
        open_store("file://data/table", StoreSettings(), AMBIENT)


@pytest.mark.parametrize("uri", ["s3://lake/events", "s3a://lake/events", "S3://lake/events/"])
def test_an_s3_address_is_an_s3_store(uri: str) -> None:
    with contextlib.closing(open_store(uri, S3, AMBIENT)) as store:
        assert isinstance(store, S3Store)
        assert (store.uri, store.local_path("k")) == (uri.rstrip("/"), None)


@pytest.mark.parametrize(
    "uri",
    ["az://lake/events", "azure://lake/events", "abfss://lake@acct.dfs.core.windows.net/events"],
)
def test_an_azure_address_is_an_azure_store(uri: str) -> None:
    with contextlib.closing(open_store(uri, AZURE, AMBIENT)) as store:
        assert isinstance(store, AzureStore)
        assert store.uri == uri


def test_an_abfss_address_that_names_another_account_than_the_settings_is_refused() -> None:
    url = StoreSettings(azure_account_url="https://mine.blob.core.windows.net", azure_account_key="c2VjcmV0")
    with pytest.raises(StoreError, match=r"names the account 'theirs', the azure.* settings 'mine'"):
        open_store("abfss://lake@theirs.dfs.core.windows.net/t", url, AMBIENT)


def test_an_azure_address_without_an_account_is_explained() -> None:
    with pytest.raises(StoreError, match=r"set azure\.account-name"):
        open_store("az://lake/t", StoreSettings(), AMBIENT)


def test_azure_settings_without_credentials_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(StoreError, match=r"without credentials: set azure.connection-string"):
        open_store("az://lake/t", StoreSettings(azure_account_name="acct"), AMBIENT)


def test_a_broken_connection_string_is_explained_without_showing_it() -> None:
    with pytest.raises(StoreError, match=r"Check the azure\.\* settings") as caught:
        open_store("az://lake/t", StoreSettings(azure_connection_string="hunter2"), AMBIENT)
    assert "hunter2" not in str(caught.value)


def test_an_endpoint_that_is_no_address_is_explained() -> None:
    with pytest.raises(StoreError, match=r"Check the s3\.\* settings"):
        open_store("s3://lake/t", StoreSettings(s3_endpoint="not an address"), AMBIENT)


def test_a_profile_that_is_absent_is_explained() -> None:
    with pytest.raises(StoreError, match="no-such-profile"):
        open_store("s3://lake/t", StoreSettings(s3_profile="no-such-profile"), AMBIENT)


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("s4://lake/t", r"Did you mean s3://\?"),
        ("abfs3://c@a.dfs.core.windows.net/t", r"Did you mean abfss?://\?"),
        ("hdfs://name/t", "Known are a plain path"),
        ("s3:/lake/t", "write s3://lake/t"),
        ("s3:///t", "write s3://BUCKET/path"),
        ("az://", "write az://CONTAINER/path"),
        ("abfss://lake/t", "write abfss://CONTAINER@ACCOUNT"),
        ("abfss://lake@acct/t", "write abfss://CONTAINER@ACCOUNT"),
        ("s3://lake/a/../b", "'..'"),
        ("", "no address"),
    ],
)
def test_an_address_that_can_not_be_understood_is_one_clear_line(uri: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=hint) as caught:
        open_store(uri, StoreSettings(), AMBIENT)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "library", "module", "extra"),
    [("s3://lake/t", "boto3", "s3", "s3"), ("az://lake/t", "azure.storage.blob", "azure", "azure")],
)
def test_a_library_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, uri: str, library: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    for name in [name for name in sys.modules if name.startswith(f"headgate_table.store.{module}")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(StoreError, match=rf"pip install 'headgate\[{extra}\]'"):
        open_store(uri, S3, AMBIENT)


def test_opening_a_local_store_loads_no_library_of_a_cloud(tmp_path: Path) -> None:
    program = (
        "import sys; from headgate_table.store.open import *; from headgate_schemas.ambient import SystemAmbient; "
        f"open_store({str(tmp_path)!r}, StoreSettings(), SystemAmbient()); "
        "print([name for name in ('boto3', 'botocore', 'azure') if name in sys.modules])"
    )
    paths = ":".join(path for path in sys.path if path)
    said = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": paths}, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"


def test_every_documented_key_is_understood() -> None:
    given = dict.fromkeys(DOCUMENTED_KEYS, "true")
    settings = StoreSettings.from_mapping(given)
    assert [getattr(settings, name) for name in DOCUMENTED_KEYS.values()] == [
        True if name in ("s3_path_style", "local_durable") else "true" for name in DOCUMENTED_KEYS.values()
    ]


def test_the_documented_keys_are_these() -> None:
    assert sorted(DOCUMENTED_KEYS) == [
        "azure.account-key",
        "azure.account-name",
        "azure.account-url",
        "azure.bearer-token",
        "azure.connection-string",
        "azure.sas-token",
        "local.durable",
        "s3.access-key",
        "s3.endpoint",
        "s3.path-style",
        "s3.profile",
        "s3.region",
        "s3.secret-key",
        "s3.session-token",
    ]


def test_the_names_known_from_indextables_are_understood() -> None:
    settings = StoreSettings.from_mapping(
        {
            "aws_access_key_id": "id",
            "spark.indextables.aws.secretKey": "secret",
            "aws_session_token": "token",
            "aws_region": "eu-west-1",
            "spark.headgate.aws.endpoint": "http://host",
            "aws_force_path_style": "false",
            "azure_account_name": "acct",
            "azure_access_key": "key",
            "azure_bearer_token": "bearer",
        }
    )
    assert settings == StoreSettings(
        s3_access_key="id",
        s3_secret_key="secret",
        s3_session_token="token",
        s3_region="eu-west-1",
        s3_endpoint="http://host",
        s3_path_style=False,
        azure_account_name="acct",
        azure_account_key="key",
        azure_bearer_token="bearer",
    )


def test_an_unknown_key_is_answered_with_the_nearest_and_all() -> None:
    with pytest.raises(
        InvalidInput, match=r"no store setting 's3.regoin'. Did you mean 's3.region'\? Known are: azure"
    ):
        StoreSettings.from_mapping({"s3.regoin": "x"})


def test_one_setting_under_two_names_must_agree() -> None:
    assert StoreSettings.from_mapping({"s3.region": "a", "aws_region": "a"}).s3_region == "a"
    with pytest.raises(InvalidInput, match=r"'s3.region' and 'aws_region' mean the same and differ"):
        StoreSettings.from_mapping({"s3.region": "a", "aws_region": "b"})


def test_a_switch_that_is_neither_on_nor_off_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'s3.path-style' is 'maybe': write true or false"):
        StoreSettings.from_mapping({"s3.path-style": "maybe"})


def test_secrets_are_not_shown() -> None:
    secret = StoreSettings(
        s3_secret_key="hunter2",
        s3_session_token="hunter2",
        azure_connection_string="hunter2",
        azure_account_key="hunter2",
        azure_sas_token="hunter2",
        azure_bearer_token="hunter2",
    )
    assert "hunter2" not in repr(secret)


@pytest.mark.parametrize(
    "address",
    ["/tmp/" + "x" * 300, "file:///tmp/" + "é" * 200, "s3://" + "b" * 300 + "/t", "s3://bucket/" + "k/" * 500],
    ids=["a long name", "a long name in bytes", "a long bucket", "a long key"],
)
def test_an_address_where_no_table_can_ever_be_is_no_address(address: str) -> None:
    """Break: whoever is asked for that table waits for it for ever."""
    with pytest.raises(InvalidInput, match="no table can be at"):
        open_store(address, StoreSettings(), SystemAmbient())


def test_links_in_a_circle_are_no_place_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    for name in ("one", "one/t"):
        with pytest.raises(InvalidInput, match="no table can be at"):
            open_store(str(tmp_path / name), StoreSettings(), SystemAmbient())


@pytest.mark.parametrize("name", ["file", "link", "file/t", "file/deep/er/t", "link/t"])
def test_a_file_in_the_place_of_a_folder_is_named_and_may_go_away(tmp_path: Path, name: str) -> None:
    """Break: the file that stands in a mount point while its disk is away refuses the table for good."""
    file = tmp_path / "file"
    file.write_bytes(b"")
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(
        FileInTheWay, match=r"is a file, not a folder. Is the address right, and is its disk mounted\?"
    ) as raised:
        open_store(str(tmp_path / name), StoreSettings(), SystemAmbient())
    assert raised.value.path == str(tmp_path / name.partition("/")[0])
    file.unlink()
    file.mkdir()
    open_store(str(tmp_path / name), StoreSettings(), SystemAmbient()).put("k", b"")


def test_a_table_is_made_and_opened_at_a_path(tmp_path: Path) -> None:
    made = Table.create(tmp_path / "t", "id BIGINT")
    assert Table.open(tmp_path / "t").uri == made.uri == str(tmp_path / "t")
