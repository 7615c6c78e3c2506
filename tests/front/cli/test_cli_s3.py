"""The command on a real object store: settings reach it, and what the store refuses is told in one line."""

from typing import Any

import pytest

from support.servers.versitygw import S3Server


def _store(server: S3Server, **changes: str) -> list[str]:
    settings = {
        "s3.endpoint": server.endpoint,
        "s3.access-key": server.access_key,
        "s3.secret-key": server.secret_key,
        "s3.region": "us-east-1",
    } | changes
    return [word for key, value in settings.items() for word in ("--store", f"{key}={value}")]


def test_a_table_on_s3_is_made_described_and_examined(headgate: Any, versitygw: S3Server, s3_bucket: str) -> None:
    uri = f"s3://{s3_bucket}/lake/events"
    store = _store(versitygw)
    made = headgate("table", "create", uri, "--schema", "id bigint", "--format", "json", *store)
    assert (made.code, made.json["table_path"]) == (0, uri)
    assert headgate("table", "checkpoint", uri, *store).code == 0
    assert headgate("table", "describe", uri, "--format", "json", *store).json["format"] == "avro-state"
    examined = {row["check"]: row["health"] for row in headgate("doctor", uri, "--format", "json", *store).json}
    assert (examined["conditional writes"], examined["table"], examined["log"]) == ("ok", "ok", "ok")


def test_settings_of_the_environment_reach_the_store(
    headgate: Any, versitygw: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_STORE_S3_ENDPOINT", versitygw.endpoint)
    monkeypatch.setenv("HEADGATE_STORE_S3_ACCESS_KEY", versitygw.access_key)
    monkeypatch.setenv("HEADGATE_STORE_S3_SECRET_KEY", versitygw.secret_key)
    monkeypatch.setenv("HEADGATE_STORE_S3_REGION", "us-east-1")
    assert headgate("table", "create", f"s3://{s3_bucket}/t", "--schema", "id bigint").code == 0
    assert headgate("table", "files", f"s3://{s3_bucket}/t", "--format", "json").json == []


@pytest.mark.parametrize("command", ["files", "describe", "verify"])
def test_a_wrong_key_is_one_line(headgate: Any, versitygw: S3Server, s3_bucket: str, command: str) -> None:
    ran = headgate("table", command, f"s3://{s3_bucket}/t", *_store(versitygw, **{"s3.secret-key": "wrong"}))
    assert (ran.code, ran.out) == (1, "")
    assert len(ran.err.splitlines()) == 1
    assert f"s3://{s3_bucket}/t" in ran.err


def test_a_missing_bucket_is_one_line(headgate: Any, versitygw: S3Server) -> None:
    ran = headgate("table", "files", "s3://no-such-bucket/t", *_store(versitygw))
    assert ran.code == 1
    assert "no-such-bucket" in ran.err


def test_secrets_are_in_no_message(headgate: Any, versitygw: S3Server) -> None:
    ran = headgate(
        "table", "files", "s3://no-such-bucket/t", "--debug", *_store(versitygw, **{"s3.secret-key": "sesame-1234"})
    )
    assert ran.code == 1
    assert "sesame-1234" not in ran.out + ran.err
