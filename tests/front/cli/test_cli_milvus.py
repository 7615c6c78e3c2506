"""A Milvus table on the command line: proposing to it, and looking at it with the commands for all tables."""

import base64
import json
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headgate as library
from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import Resolver
from headgate_table.milvus.snapshot import MilvusSnapshot
from headgate_table.milvus.transaction import Transaction
from support.committing.transactions import adding, rows
from support.processes.command_line import Headgate

NO_MEANING = "which doesn't have"


def written(place: Path, name: str, **columns: list[int]) -> str:
    """A Parquet file where a Milvus table has its data."""
    target = place / "_data" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), target)
    return name


def committed(place: Path, *names: str) -> None:
    """A version for each of these files, directly."""
    for name in names:
        Transaction.open(str(place), resolver=Resolver.MERGE).append_files([rows(name)]).commit()


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A table of three versions by other programs; its data files are there."""
    place = tmp_path / "segment"
    place.mkdir()
    committed(place, "a", "b")
    Transaction.open(str(place), version=1, resolver=Resolver.OVERWRITE).append_files([rows("c")]).commit()
    for name in ("a", "c"):
        written(place, f"{name}.parquet", id=[1])
    return place


# ---- proposing


@pytest.mark.usefixtures("committing")
def test_files_are_proposed_with_the_columns_and_rows_of_their_footers(tmp_path: Path, headgate: Headgate) -> None:
    place = tmp_path / "segment"
    scalars = written(place, "ids.parquet", id=[1, 2, 3], tag=[4, 5, 6])
    vectors = written(place, "vectors.parquet", vector=[7, 8, 9])
    done = headgate("propose", place, "milvus", "--file", scalars, "--file", f"_data/{vectors}", "--format", "json")
    assert (done.code, done.json["outcome"], done.json["version"]) == (0, "committed", 1)
    shown = headgate("milvus", "show", place).json
    assert shown["column_groups"] == [
        {
            "columns": ["id", "tag"],
            "format": "parquet",
            "files": [{"path": "ids.parquet", "start_index": 0, "end_index": 3}],
        },
        {
            "columns": ["vector"],
            "format": "parquet",
            "files": [{"path": "vectors.parquet", "start_index": 0, "end_index": 3}],
        },
    ]
    assert shown["commit"]["decisions"][0]["id"] == done.json["proposal_id"]


@pytest.mark.usefixtures("committing")
def test_delta_logs_and_stats_are_proposed_by_options(tmp_path: Path, headgate: Headgate) -> None:
    place = tmp_path / "segment"
    options = ["--delta-log", "pk.log:20", "--delta-log", "pos.log:3:positional", "--stat", "bm25=a.idx,b.idx"]
    assert headgate("propose", place, "milvus", *options).code == 0
    shown = headgate("milvus", "show", place).json
    assert shown["delta_logs"] == [
        {"path": "pk.log", "type": "PRIMARY_KEY", "num_entries": 20},
        {"path": "pos.log", "type": "POSITIONAL", "num_entries": 3},
    ]
    assert shown["stats"] == {"bm25": ["a.idx", "b.idx"]}


@pytest.mark.usefixtures("committing")
def test_a_whole_transaction_is_proposed_as_a_document(tmp_path: Path, headgate: Headgate) -> None:
    place, source = tmp_path / "segment", tmp_path / "updates.json"
    note = base64.b64encode(b"note").decode()
    files = [{"path": "a.parquet", "startIndex": 0, "endIndex": 5, "metadata": note}]
    source.write_text(json.dumps({"appendedFiles": [[{"columns": ["id"], "files": files}]]}))
    assert (
        headgate("propose", place, "milvus", "--updates", source, "--resolver", "fail", "--read-version", "0").code == 0
    )
    [group] = headgate("milvus", "show", place).json["column_groups"]
    assert group["files"] == [{"path": "a.parquet", "start_index": 0, "end_index": 5, "metadata": note}]


@pytest.mark.usefixtures("committing")
def test_a_refused_transaction_ends_with_one_and_its_reason(segment: Path, headgate: Headgate) -> None:
    done = headgate("propose", segment, "milvus", "--stat", "k=v", "--resolver", "fail", "--read-version", "1")
    assert done.code == 1
    assert "concurrent transaction detected" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "needs --file"),
        (["--delta-log", "pk.log"], "PATH:ENTRIES"),
        (["--delta-log", "pk.log:1:other"], "primary-key"),
        (["--stat", "bm25"], "KEY=PATH"),
        (["--stat", "k=v", "--resolver", "overwrite"], "needs --read-version"),
        (["--stat", "k=v", "--updates", "x"], "either --updates"),
        (["--path", "x", "--stat", "k=v"], "takes no --path"),
        (["--updates", "nowhere.json"], "can't be read"),
    ],
)
def test_wrong_usage_is_told(bus: str, tmp_path: Path, headgate: Headgate, options: list[str], said: str) -> None:
    done = headgate("propose", tmp_path / "segment", "milvus", *options)
    assert done.code == 2
    assert said in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize("text", ["[]", "{", '{"stats": {}}', '{"resolver": "guess", "stats": {"k": {"paths": []}}}'])
def test_a_document_that_is_no_transaction_is_refused(bus: str, tmp_path: Path, headgate: Headgate, text: str) -> None:
    source = tmp_path / "updates.json"
    source.write_text(text)
    assert headgate("propose", tmp_path / "segment", "milvus", "--updates", source).code == 1


def test_a_file_that_is_not_there_is_not_proposed(bus: str, segment: Path, headgate: Headgate) -> None:
    done = headgate("propose", segment, "milvus", "--file", "nowhere.parquet")
    assert (done.code, "there is no _data/nowhere.parquet" in done.err) == (1, True)


# ---- looking


def test_the_data_files_of_a_version_are_listed(segment: Path, headgate: Headgate) -> None:
    newest, first = (
        headgate("table", "files", segment, "--format", "json"),
        headgate("table", "files", segment, "--version", 1, "--format", "json"),
    )
    assert [row["path"] for row in newest.json] == ["a.parquet", "c.parquet"]
    assert [(row["path"], row["num_records"], row["columns"]) for row in first.json] == [
        ("a.parquet", 10, ["id", "vector"])
    ]


def test_its_history_and_changes_are_told_by_files(segment: Path, headgate: Headgate) -> None:
    history = headgate("table", "history", segment, "--format", "json").json
    assert [(row["version"], row["operation"], row["adds"], row["removes"]) for row in history] == [
        (3, "unknown", 1, 1),
        (2, "unknown", 1, 0),
        (1, "unknown", 1, 0),
    ]
    changes = headgate("table", "changes", segment, "--since", 2, "--format", "json").json
    assert [[row["path"] for row in changes[kind]] for kind in ("added", "removed")] == [["c.parquet"], ["b.parquet"]]


def test_changes_since_a_version_that_is_yet_to_come_name_those_that_are_there(
    segment: Path, headgate: Headgate
) -> None:
    done = headgate("table", "changes", segment, "--since", 9)
    assert (done.code, "has no version 9: there are 3 from 1 to 3" in done.err) == (1, True)


def test_it_is_described(segment: Path, headgate: Headgate) -> None:
    described = headgate("table", "describe", segment, "--format", "json").json
    assert (described["format"], described["version"], described["num_files"], described["num_manifests"]) == (
        "milvus",
        3,
        2,
        3,
    )


def test_a_sound_table_is_verified(segment: Path, headgate: Headgate) -> None:
    done = headgate("table", "verify", segment, "--format", "json")
    assert (done.code, done.json["ok"], done.json["checked"]["data_files"]) == (0, True, 2)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("_metadata/manifest-2.avro", b"", "is empty"),
        ("_metadata/manifest-99.json", b"x", "other writers take its name"),
        ("_headgate/commits/x", b"", None),
    ],
)
def test_what_is_wrong_with_it_is_found(
    segment: Path, headgate: Headgate, name: str, data: bytes, said: str | None
) -> None:
    (segment / name).parent.mkdir(parents=True, exist_ok=True)
    (segment / name).write_bytes(data)
    done = headgate("table", "verify", segment, "--format", "json")
    assert done.code == (0 if said is None else 1)
    assert said is None or any(said in finding["what"] for finding in done.json["findings"])


def test_a_data_file_that_is_gone_is_found(segment: Path, headgate: Headgate) -> None:
    (segment / "_data" / "c.parquet").unlink()
    done = headgate("table", "verify", segment, "--format", "json")
    errors = [finding["object"] for finding in done.json["findings"] if finding["severity"] == "error"]
    assert (done.code, errors) == (1, ["_data/c.parquet"])


@pytest.mark.usefixtures("committing")
def test_a_manifest_that_was_replaced_under_a_committer_is_found(segment: Path, headgate: Headgate) -> None:
    headgate("propose", segment, "milvus", "--stat", "k=v")
    before = segment / "_metadata" / "manifest-3.avro"
    before.write_bytes((segment / "_metadata" / "manifest-1.avro").read_bytes())
    done = headgate("table", "verify", segment, "--log-only", "--format", "json")
    assert [finding["object"] for finding in done.json["findings"] if finding["severity"] == "error"] == [
        "_metadata/manifest-3.avro"
    ]


@pytest.mark.usefixtures("committing")
def test_a_newest_version_that_was_replaced_is_found_by_what_it_had_decided(segment: Path, headgate: Headgate) -> None:
    proposed = headgate("propose", segment, "milvus", "--stat", "k=v", "--format", "json").json
    newest = segment / "_metadata" / f"manifest-{proposed['version']}.avro"
    newest.write_bytes((segment / "_metadata" / "manifest-1.avro").read_bytes())
    done = headgate("table", "verify", segment, "--log-only", "--format", "json")
    record, *manifests = sorted(
        (finding for finding in done.json["findings"] if finding["severity"] == "warning"),
        key=lambda found: found["object"],
    )
    assert f"no version holds what was decided here about {proposed['proposal_id']}" in record["what"]
    assert [found["object"] for found in manifests] == ["_metadata/manifest-3.avro", "_metadata/manifest-4.avro"]
    assert all("lacks what version" in found["what"] for found in manifests)


@pytest.mark.parametrize(
    "command",
    [
        ["checkpoint"],
        ["compact"],
        ["merge"],
        ["purge"],
        ["truncate-history"],
        ["drop-partitions", "--where", "a = 1"],
        ["log"],
        ["bring-back"],
        ["files", "--where", "a = 1"],
    ],
    ids=lambda command: command[0],
)
def test_what_has_no_meaning_for_it_says_so(segment: Path, headgate: Headgate, command: list[str]) -> None:
    done = headgate("table", command[0], segment, *command[1:])
    assert (done.code, NO_MEANING in done.err) == (1, True)


def test_a_place_without_manifests_can_not_be_shown(tmp_path: Path, headgate: Headgate) -> None:
    done = headgate("milvus", "show", tmp_path)
    assert (done.code, "no Milvus manifests" in done.err) == (1, True)


def test_the_data_files_of_a_manifest_are_shown_as_csv(segment: Path, headgate: Headgate) -> None:
    shown = headgate("milvus", "show", segment, "--version", 1, "--resolved", "--format", "csv").csv
    assert [row["path"] for row in shown] == ["_data/a.parquet"]


# ---- as a library


def test_a_table_is_opened_by_looking(segment: Path) -> None:
    table = library.Table.open(str(segment))
    assert isinstance(table, library.Table)
    assert not table.has_log
    snapshot = table.snapshot()
    assert isinstance(snapshot, MilvusSnapshot)
    assert (table.version, snapshot.paths(), snapshot.num_records) == (3, ["a.parquet", "c.parquet"], 20)


def test_a_snapshot_can_be_sent_to_another_process(segment: Path) -> None:
    snapshot = library.Table.open(str(segment)).snapshot()
    assert isinstance(snapshot, MilvusSnapshot)
    received = pickle.loads(pickle.dumps(snapshot))  # noqa: S301  # our own bytes
    assert received.manifest == snapshot.manifest
    assert received.files().equals(snapshot.files())


def test_a_time_is_a_version_by_the_clock_of_the_store(segment: Path) -> None:
    table = library.Table.open(str(segment))
    newest = table.describe().created_at
    assert newest is not None
    assert table.snapshot(timestamp=newest + 1).version == 3
    assert table.changes(since_timestamp=1).added.num_rows == 2


def test_appending_data_files_is_refused_with_the_way_to_do_it(segment: Path) -> None:
    with pytest.raises(InvalidInput, match="Transaction"):
        library.Table.open(str(segment)).append([])


@pytest.mark.usefixtures("committing")
def test_a_producer_commits_transactions_and_finds_their_outcome_in_the_table(bus: str, tmp_path: Path) -> None:
    place = str(tmp_path / "segment")
    with library.Producer(bus, place) as producer:
        receipt = producer.milvus(adding("a")).wait(timeout=30)
        refused = producer.milvus(adding("b"), resolver="fail", read_version=0).wait(timeout=30)
    assert receipt == library.Committed(1, receipt.proposal_id)
    assert isinstance(refused, library.Rejected)
    with library.Producer(bus, place, threads=False) as later:
        assert later.outcome(receipt.proposal_id) == receipt
        assert later.outcome(refused.proposal_id) == refused


def test_a_producer_refuses_what_no_committer_could_run(bus: str, tmp_path: Path) -> None:
    with library.Producer(bus, str(tmp_path / "segment"), threads=False) as producer:
        with pytest.raises(InvalidInput, match="merge"):
            producer.milvus(adding("a"), resolver="guess")
        with pytest.raises(InvalidInput, match="readVersion"):
            producer.milvus(adding("a"), resolver=Resolver.FAIL)
