"""The library that upstream published, as a judge: it reads what we write, and we read what it writes, paths included."""

import json
from pathlib import Path
from typing import Any

from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Updates
from headgate_table.milvus import Manifest, PathPolicy, Transaction, apply_updates, decode_manifest, encode_manifest
from headgate_table.milvus.format.paths import ManifestBase, resolved
from support.milvus.builders import rows
from support.milvus.golden import golden_files
from support.milvus.random_manifests import random_manifests
from support.milvus.real_library import ask_library, read_by_library

UPDATES: dict[str, Any] = {
    "appends": [
        [
            {"columns": ["id", "näme"], "format": "parquet", "files": [["t/_data/0_a.parquet", 0, 100, "00ff10"]]},
            {"columns": ["vec"], "format": "vortex", "files": [["/ext/x.vortex", 0, 100, ""]]},
        ]
    ],
    "deltas": [["pk_001.log", 200], ["_delta/pk_002.log", 2**31 - 1]],
    "stats": {"bm25": ["z.idx"], "bloomfilter": ["_stats/b.bf", "c.bf"], "empty": []},
}
MORE: dict[str, Any] = {
    "appends": [
        [
            {"columns": ["näme", "id"], "format": "parquet", "files": [["t/_data/0_b.parquet", 100, 250, ""]]},
            {"columns": ["vec"], "format": "vortex", "files": [["elsewhere/y.vortex", 100, 250, ""]]},
        ]
    ],
    "stats": {"bm25": ["w.idx"]},
}


def _values(manifest: Manifest) -> dict[str, Any]:
    """As the library's process tells them."""
    return {
        "groups": [
            {
                "columns": list(group.columns),
                "format": group.format,
                "files": [[file.path, file.start_index, file.end_index, file.metadata.hex()] for file in group.files],
            }
            for group in manifest.column_groups
        ],
        # Its C interface shows these only, and 32 bits of the number.
        "deltas": [[log.path, log.num_entries % 2**32] for log in manifest.delta_logs if log.type == 0],
        "stats": manifest.get_all_stats(),
    }


def _ours(root: Path, base: str, version: int = -1) -> dict[str, Any]:
    transaction = Transaction.open(str(root), base, version, path_policy=PathPolicy.BARE_DATA)
    return {"version": transaction.read_version, **_values(transaction.get_manifest())}


def test_we_read_what_the_library_wrote_as_it_does_and_write_the_same_bytes(tmp_path: Path) -> None:
    place = {"root": str(tmp_path), "base": "t"}
    answers = ask_library(
        [
            {"do": "commit", **place, "updates": UPDATES},
            {"do": "read", **place},
            {"do": "commit", **place, "updates": MORE},
            {"do": "read", **place},
        ]
    )
    assert [answer["version"] for answer in answers] == [1, 1, 2, 2]
    assert (_ours(tmp_path, "t", 1), _ours(tmp_path, "t")) == (answers[1], answers[3])
    for file in (tmp_path / "t/_metadata").iterdir():
        assert encode_manifest(decode_manifest(file.read_bytes(), file.name)) == file.read_bytes()


def test_the_same_updates_make_the_same_bytes(tmp_path: Path) -> None:
    for answer in ask_library(
        [
            {"do": "commit", "root": str(tmp_path / "theirs"), "base": "t", "updates": updates}
            for updates in (UPDATES, MORE)
        ]
    ):
        assert "error" not in answer
    for updates in (UPDATES, MORE):
        transaction = Transaction.open(str(tmp_path / "ours"), "t", path_policy=PathPolicy.BARE_DATA)
        for groups in updates["appends"]:
            transaction.append_files([_group(group) for group in groups])
        for path, entries in updates.get("deltas", ()):
            transaction.add_delta_log(path, entries)
        for key, files in updates["stats"].items():
            transaction.update_stat(key, files)
        transaction.commit()
    for name in ("manifest-1.avro", "manifest-2.avro"):
        theirs, ours = (tmp_path / who / "t/_metadata" / name for who in ("theirs", "ours"))
        assert ours.read_bytes() == theirs.read_bytes()


def test_the_library_and_we_take_turns_on_one_table(tmp_path: Path) -> None:
    for turn in range(2):
        number = 2 * turn
        Transaction.open(str(tmp_path), "t").append_files([rows("id", f"t/_data/ours-{turn}")]).add_delta_log(
            f"ours-{turn}.log", 1
        ).commit()
        append = {"columns": ["id"], "format": "parquet", "files": [[f"t/_data/theirs-{turn}", 0, 10, ""]]}
        (answer,) = ask_library(
            [
                {
                    "do": "commit",
                    "root": str(tmp_path),
                    "base": "t",
                    "updates": {"appends": [[append]], "deltas": [["theirs", 1]]},
                }
            ]
        )
        assert answer["version"] == number + 2
    found = read_by_library(tmp_path, "t")
    assert [file[0] for file in found["groups"][0]["files"]] == [
        f"t/_data/{who}-{turn}" for turn in range(2) for who in ("ours", "theirs")
    ]
    assert found == _ours(tmp_path, "t")


def test_the_library_reads_random_manifests_of_ours(tmp_path: Path) -> None:
    manifests = random_manifests(3, 100)
    for number, manifest in enumerate(manifests):
        folder = tmp_path / f"t{number}/_metadata"
        folder.mkdir(parents=True)
        (folder / "manifest-1.avro").write_bytes(encode_manifest(manifest))
    answers = ask_library(
        [{"do": "read", "root": str(tmp_path), "base": f"t{number}"} for number in range(len(manifests))]
    )
    for number, (manifest, answer) in enumerate(zip(manifests, answers, strict=True)):
        expected = resolved(manifest, ManifestBase(f"t{number}"), PathPolicy.BARE_DATA)
        assert answer == {"version": 1, **_values(expected)}


def test_the_golden_cases_are_still_what_the_library_says(tmp_path: Path) -> None:
    cases = golden_files()
    requests = []
    for number, golden in enumerate(cases):
        root = tmp_path / str(number)
        folder = root / golden.base / "_metadata"
        folder.mkdir(parents=True)
        (folder / f"manifest-{golden.version}.avro").write_bytes(golden.data)
        requests.append({"do": "read", "root": str(root), "base": golden.base})
    for golden, answer in zip(cases, ask_library(requests), strict=True):
        assert json.dumps(answer["groups"]) == json.dumps(
            [
                {"columns": group["cols"], "format": group["fmt"], "files": group["files"]}
                for group in golden.values["cgs"]
            ]
        )
        assert (answer["deltas"], answer["stats"]) == (golden.values["deltas"], golden.values["stats"])


def test_the_library_refuses_what_we_refuse(tmp_path: Path) -> None:
    data = encode_manifest(Manifest((rows("id", "a"),), (DeltaLog("d", 1),)))
    refused = [b"", data[:-1], data[:5], b"MILV" + data, data[:5] + b"\x04" + data[6:]]
    for number, bad in enumerate(refused):
        folder = tmp_path / f"t{number}/_metadata"
        folder.mkdir(parents=True)
        (folder / "manifest-1.avro").write_bytes(bad)
    answers = ask_library(
        [{"do": "read", "root": str(tmp_path), "base": f"t{number}"} for number in range(len(refused))]
    )
    assert all("error" in answer for answer in answers)


def test_what_we_refuse_to_apply_the_library_refuses_too(tmp_path: Path) -> None:
    table = {"columns": ["id"], "format": "parquet", "files": [["a", 0, 10, ""]]}
    bad: list[dict[str, Any]] = [
        {"groups": [table]},
        {"appends": [[table, {**table, "columns": ["v"]}]]},
        {"appends": [[{**table, "columns": ["v"]}]]},
        {"appends": [[{**table, "format": "vortex"}]]},
        {},
    ]
    place = {"root": str(tmp_path), "base": "t"}
    first, *answers = ask_library(
        [
            {"do": "commit", **place, "updates": {"appends": [[table]]}},
            *({"do": "commit", **place, "updates": updates} for updates in bad),
        ]
    )
    assert first["version"] == 1
    assert all("error" in answer for answer in answers)
    ours = Transaction.open(str(tmp_path), "t").get_stored_manifest()
    for updates in bad[:-1]:
        changes = Updates(
            tuple(_group(group) for group in updates.get("groups", ())),
            tuple(tuple(_group(group) for group in groups) for groups in updates.get("appends", ())),
        )
        assert not isinstance(apply_updates(ours, changes), Manifest)


def _group(group: dict[str, Any]) -> ColumnGroup:
    files = tuple(ColumnGroupFile(path, start, end, bytes.fromhex(data)) for path, start, end, data in group["files"])
    return ColumnGroup(tuple(group["columns"]), files, group["format"])
