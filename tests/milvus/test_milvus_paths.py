"""What paths mean in each kind of build, how ours are stored, and which names in the folder are versions."""

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import DeltaLog, Index, LobFile, Stat, Updates
from headgate_table.milvus import Manifest, PathPolicy
from headgate_table.milvus.format.names import base_prefix, found_manifests, manifest_key
from headgate_table.milvus.format.paths import ManifestBase, check_path, normal, resolved, stored
from support.milvus.builders import rows

BASE = ManifestBase("a/t", "s3://lake")


def _read(path: str, policy: PathPolicy, base: ManifestBase = BASE) -> tuple[str, str, str]:
    """As a data file, as a delta log, as a stat."""
    manifest = Manifest((rows("id", path),), (DeltaLog(path, 1),), {"k": Stat((path,))})
    found = resolved(manifest, base, policy)
    return found.column_groups[0].files[0].path, found.delta_logs[0].path, found.stats["k"].paths[0]


def _written(path: str, policy: PathPolicy, base: ManifestBase = BASE) -> tuple[str, str, str]:
    updates = Updates((rows("id", path),), (), (DeltaLog(path, 1),), {"k": Stat((path,))})
    found = stored(updates, base, policy)
    return found.added_column_groups[0].files[0].path, found.added_delta_logs[0].path, found.added_stats["k"].paths[0]


@pytest.mark.parametrize(
    ("policy", "path", "means"),
    [
        (PathPolicy.AS_GIVEN, "x", ("x", "x", "x")),
        (PathPolicy.AS_GIVEN, "_data/x", ("a/t/_data/x",) * 3),
        (PathPolicy.BARE_DATA, "x", ("a/t/_data/x", "x", "x")),
        (PathPolicy.BARE_DATA, "a/t/_delta/x", ("a/t/_data/a/t/_delta/x", "a/t/_delta/x", "a/t/_delta/x")),
        (PathPolicy.BARE, "x", ("a/t/_data/x", "a/t/_delta/x", "a/t/_stats/x")),
        (PathPolicy.BARE, "_delta/x", ("a/t/_data/_delta/x", "a/t/_delta/_delta/x", "a/t/_stats/_delta/x")),
        (PathPolicy.BARE, "../x", ("a/t/x", "a/t/x", "a/t/x")),
        (PathPolicy.BARE, "/ext/x", ("/ext/x",) * 3),
        (PathPolicy.BARE, "s3://other/x", ("s3://other/x",) * 3),
        (PathPolicy.BARE_DATA, "/ext/x", ("/ext/x",) * 3),
    ],
)
def test_a_stored_path_means_what_it_means_to_builds_of_that_time(
    policy: PathPolicy, path: str, means: tuple[str, str, str]
) -> None:
    assert _read(path, policy) == means


@pytest.mark.parametrize(
    ("policy", "path", "becomes"),
    [
        (PathPolicy.AS_GIVEN, "a/t/_data/x", ("a/t/_data/x",) * 3),
        (PathPolicy.BARE_DATA, "a/t/_data/x", ("x", "a/t/_data/x", "a/t/_data/x")),
        (PathPolicy.BARE_DATA, "_delta/x", ("_delta/x", "a/t/_delta/x", "a/t/_delta/x")),
        (PathPolicy.BARE, "a/t/_data/x", ("x", "a/t/_data/x", "a/t/_data/x")),
        (PathPolicy.BARE, "a/t/_delta/sub/x", ("a/t/_delta/sub/x", "sub/x", "a/t/_delta/sub/x")),
        (PathPolicy.BARE, "s3://lake/a/t/_stats/x", ("s3://lake/a/t/_stats/x", "s3://lake/a/t/_stats/x", "x")),
        (PathPolicy.BARE, "_delta/x", ("_delta/x", "x", "_delta/x")),
        (PathPolicy.BARE, "delta/pk_001.log", ("delta/pk_001.log",) * 3),
        (PathPolicy.BARE, "/ext/x", ("/ext/x",) * 3),
    ],
)
def test_a_given_path_is_stored_as_builds_of_that_time_store_it(
    policy: PathPolicy, path: str, becomes: tuple[str, str, str]
) -> None:
    assert _written(path, policy) == becomes


@pytest.mark.parametrize("policy", PathPolicy)
@pytest.mark.parametrize("base", [BASE, ManifestBase(""), ManifestBase("t")])
def test_a_path_below_its_own_folder_means_the_same_after_being_stored(policy: PathPolicy, base: ManifestBase) -> None:
    for place, folder in enumerate(("_data/", "_delta/", "_stats/")):
        path = base.below(folder) + "x.bin"
        assert _read(_written(path, policy, base)[place], policy, base)[place] == path


def test_indexes_and_large_values_lie_in_their_own_folders() -> None:
    manifest = Manifest(indexes=(Index("v", "t", "x"),), lob_files=(LobFile("7/_data/l", 7, 1, 1, 1),))
    found = resolved(manifest, BASE)
    assert (found.indexes[0].path, found.lob_files[0].path) == ("a/t/_index/x", "a/lobs/7/_data/l")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/./b", "a/b"),
        ("a/../b", "b"),
        ("../a", "../a"),
        ("a/../../b", "../b"),
        ("/../a", "/a"),
        ("a//b/", "a/b/"),
        ("a/b/..", "a/"),
        ("./", "."),
        ("", "."),
    ],
)
def test_paths_are_made_plain_as_the_library_makes_them(path: str, expected: str) -> None:
    assert normal(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "x",
        "delta/pk_001.log",
        "/ext/x.vortex",
        "s3://bucket/x",
        "中文.log",
        "a b.parquet",
        "a" * 4096,
        "..x",
        "file:///x",
    ],
)
def test_a_path_that_names_one_file_is_taken(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "../x",
        "a/../x",
        "./x",
        "a//x",
        "a/",
        "/",
        "s3://bucket/../x",
        "a\nb",
        "a\0b",
        "\ud800",
        "a" * 4097,
        "/a/./b",
        "//x",
    ],
)
def test_a_path_that_could_mean_another_file_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="can't be stored in a manifest"):
        check_path(path)


def test_the_newest_version_is_the_largest_number() -> None:
    assert found_manifests(["manifest-9.avro", "manifest-10.avro", "manifest-2.avro"]).versions == (2, 9, 10)


def test_gaps_are_fine() -> None:
    assert found_manifests(["manifest-1.avro", "manifest-7.avro"]).latest == 7


def test_a_folder_without_manifests_has_version_zero() -> None:
    assert found_manifests([".manifest-1.avro.tmp", "manifest-x.avro", "other", "manifest-.avro"]).latest == 0


@pytest.mark.parametrize(
    "name",
    [
        "manifest-20.txt",
        "manifest-02.avro",
        "manifest-1.avro.crc",
        "manifest-1.avro.tmp",
        "manifest-0.avro",
        "manifest--1.avro",
        "manifest-1.AVRO",
        "manifest-9223372036854775808.avro",
        "manifest-99999999999999999999.avro",
        "xmanifest-1.avro",
        "manifest-\u0661.avro",
    ],
)
def test_an_odd_name_is_no_version(name: str) -> None:
    assert found_manifests([name]).versions == ()


@pytest.mark.parametrize(
    ("name", "stops"), [("manifest-20.txt", True), ("manifest-09.avro", True), ("manifest-01.avro", False)]
)
def test_an_odd_name_that_other_writers_take_for_the_newest_version_is_told(name: str, stops: bool) -> None:
    assert found_manifests(["manifest-1.avro", name]).odd == ((name,) if stops else ())


@pytest.mark.parametrize(
    ("base", "key"), [("", "_metadata/manifest-3.avro"), ("/a/t/", "a/t/_metadata/manifest-3.avro")]
)
def test_manifests_lie_in_the_metadata_folder(base: str, key: str) -> None:
    assert manifest_key(base_prefix(base), 3) == key


def test_a_base_outside_of_the_store_is_refused() -> None:
    with pytest.raises(InvalidInput):
        base_prefix("../t")
