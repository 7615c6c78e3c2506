"""Transactions on a store: what is read, what a commit writes, who is told to have lost, and what is never done twice."""

from pathlib import Path

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import Index, Stat, Updates
from headgate_table.errors import CommitConflict, CorruptTable, UnsupportedTable, VersionNotRetained
from headgate_table.milvus import (
    LATEST,
    MERGE,
    OVERWRITE,
    DeltaLogType,
    Manifest,
    ManifestForm,
    PathPolicy,
    Refused,
    Resolver,
    Transaction,
    VersionedManifest,
    decode_manifest,
    encode_manifest,
)
from headgate_table.milvus.format.limits import MAX_VERSION
from headgate_table.milvus.format.names import manifest_key
from headgate_table.store.interface import CreateOutcome
from support.ambient import FakeAmbient
from support.milvus.builders import rows
from support.stores.memory import MemoryStore


def _open(store: MemoryStore, resolver: Resolver = Resolver.FAIL, version: int = LATEST, **more: object) -> Transaction:
    return Transaction.open(store, "t", version, resolver, ambient=FakeAmbient(), **more)  # type: ignore[arg-type]  # passed on


def _stored(store: MemoryStore, version: int) -> Manifest:
    return decode_manifest(store.get(manifest_key("t/", version)), "stored")


def _put(store: MemoryStore, version: int, manifest: Manifest) -> None:
    store.put(manifest_key("t/", version), encode_manifest(manifest))


def _logs(store: MemoryStore, version: int) -> list[str]:
    return [log.path for log in _stored(store, version).delta_logs]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def test_a_table_without_manifests_is_empty_at_version_zero(store: MemoryStore) -> None:
    transaction = _open(store)
    assert (transaction.read_version, transaction.get_manifest()) == (0, Manifest())


def test_the_first_commit_is_version_one(store: MemoryStore) -> None:
    assert _open(store).add_delta_log("pk_001.log", 200).commit() == 1
    assert store.get("t/_metadata/manifest-1.avro").hex() == "acb1cad40902000214706b5f3030312e6c6f670090030000"


def test_everything_of_one_transaction_is_one_version(store: MemoryStore) -> None:
    transaction = _open(store)
    transaction.append_files([rows("id", "t/_data/a")]).add_column_group(rows("v", "b")).add_delta_log("d", 1)
    assert transaction.update_stat("bm25", ["z"]).commit() == 1
    found = _stored(store, 1)
    assert (found.columns, found.num_files, len(found.delta_logs), found.get_stat("bm25")) == (("id", "v"), 2, 1, ["z"])


def test_paths_below_the_table_are_stored_bare(store: MemoryStore) -> None:
    _open(store).append_files([rows("id", "t/_data/a")]).add_delta_log("t/_delta/d", 1).update_stat(
        "k", ["_stats/s"]
    ).commit()
    found = _stored(store, 1)
    assert (found.column_groups[0].files[0].path, found.delta_logs[0].path, found.get_stat("k")) == ("a", "d", ["s"])


def test_the_manifest_is_given_with_its_paths_resolved(store: MemoryStore) -> None:
    _open(store).append_files([rows("id", "a")]).commit()
    transaction = _open(store)
    assert transaction.get_manifest().column_groups[0].files[0].path == "t/_data/a"
    assert transaction.get_stored_manifest().column_groups[0].files[0].path == "a"


def test_another_path_policy_reads_and_stores_otherwise(store: MemoryStore) -> None:
    transaction = _open(store, path_policy=PathPolicy.BARE_DATA)
    transaction.add_delta_log("_delta/d", 1).commit()
    assert _logs(store, 1) == ["t/_delta/d"]
    assert transaction.get_manifest().get_delta_logs() == ["t/_delta/d"]


def test_delta_logs_have_the_type_that_was_given(store: MemoryStore) -> None:
    _open(store).add_delta_log("a", 1).add_delta_log("b", 2, DeltaLogType.EQUALITY).commit()
    assert [log.type for log in _stored(store, 1).delta_logs] == [DeltaLogType.PRIMARY_KEY, DeltaLogType.EQUALITY]


def test_the_last_files_of_a_stat_count(store: MemoryStore) -> None:
    _open(store).update_stat("k", ["a"]).update_stat("k", ["b", "c"]).commit()
    assert _stored(store, 1).stats == {"k": Stat(("b", "c"))}


def test_after_a_commit_the_transaction_stands_on_its_version(store: MemoryStore) -> None:
    transaction = _open(store).add_delta_log("a", 1)
    transaction.commit()
    assert (transaction.read_version, transaction.updates) == (1, Updates())
    assert transaction.add_delta_log("b", 1).commit() == 2
    assert _logs(store, 2) == ["a", "b"]


def test_a_commit_of_nothing_is_an_error(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="no updates were recorded"):
        _open(store).commit()


def test_a_second_commit_commits_nothing_again(store: MemoryStore) -> None:
    transaction = _open(store).add_delta_log("a", 1)
    transaction.commit()
    with pytest.raises(InvalidInput, match="no updates were recorded"):
        transaction.commit()
    assert store.head(manifest_key("t/", 2)) is None


def test_a_named_version_is_read(store: MemoryStore) -> None:
    _open(store).add_delta_log("a", 1).commit()
    _open(store).add_delta_log("b", 1).commit()
    assert _open(store, version=1).get_manifest().get_delta_logs() == ["t/_delta/a"]
    assert _open(store, version=0).get_manifest() == Manifest()


def test_a_version_that_is_not_there_is_an_error_that_names_those_that_are(store: MemoryStore) -> None:
    _open(store).add_delta_log("a", 1).commit()
    with pytest.raises(VersionNotRetained, match="has no version 7: there are 1 from 1 to 1"):
        _open(store, version=7)


@pytest.mark.parametrize("version", [-2, True])
def test_a_number_that_is_no_version_is_refused(store: MemoryStore, version: int) -> None:
    with pytest.raises(InvalidInput, match="give LATEST"):
        _open(store, version=version)


def test_with_fail_the_loser_is_told_and_nothing_of_it_is_written(store: MemoryStore) -> None:
    one, other = _open(store).add_delta_log("a", 1), _open(store).add_delta_log("b", 1)
    one.commit()
    with pytest.raises(CommitConflict, match="concurrent transaction detected"):
        other.commit()
    assert _logs(store, 1) == ["a"]
    assert store.head(manifest_key("t/", 2)) is None


def test_with_merge_both_are_there(store: MemoryStore) -> None:
    one, other = _open(store, MERGE).add_delta_log("a", 1), _open(store, MERGE).add_delta_log("b", 1)
    assert (one.commit(), other.commit()) == (1, 2)
    assert _logs(store, 2) == ["a", "b"]


def test_overwrite_drops_what_others_committed_meanwhile(store: MemoryStore) -> None:
    one, other = _open(store, MERGE).add_delta_log("a", 1), _open(store, OVERWRITE).add_delta_log("b", 1)
    assert (one.commit(), other.commit()) == (1, 2)
    assert _logs(store, 2) == ["b"]


def test_overwrite_of_an_old_version_brings_it_back(store: MemoryStore) -> None:
    for path in ("a", "b", "c"):
        _open(store).add_delta_log(path, 1).commit()
    assert _open(store, OVERWRITE, version=1).add_delta_log("d", 1).commit() == 4
    assert _logs(store, 4) == ["a", "d"]


def test_merge_refuses_a_column_that_another_transaction_added_meanwhile(store: MemoryStore) -> None:
    one, other = (_open(store, MERGE).add_column_group(rows("v", path)) for path in ("a", "b"))
    one.commit()
    with pytest.raises(CommitConflict, match="column 'v' already exists"):
        other.commit()


def test_updates_that_never_fitted_are_the_callers_mistake(store: MemoryStore) -> None:
    _open(store).append_files([rows("id", "a")]).commit()
    with pytest.raises(InvalidInput, match="column group 0 holds"):
        _open(store).append_files([rows("other", "b")]).commit()


def test_a_function_resolves_conflicts_by_its_own_rule(store: MemoryStore) -> None:
    def once(read: VersionedManifest, seen: VersionedManifest, updates: Updates) -> Manifest | Refused:
        theirs = {log.path for log in seen.manifest.delta_logs}
        mine = tuple(log for log in updates.added_delta_logs if log.path not in theirs)
        return (
            Manifest(delta_logs=seen.manifest.delta_logs + mine) if mine else Refused("resolver", "it is there already")
        )

    _open(store).add_delta_log("a", 1).commit()
    transaction = Transaction.open(store, "t", 0, once, ambient=FakeAmbient())
    assert transaction.add_delta_log("a", 1).add_delta_log("b", 1).commit() == 2
    assert _logs(store, 2) == ["a", "b"]
    with pytest.raises(InvalidInput, match="it is there already"):
        transaction.add_delta_log("b", 1).commit()


class _Overtaken(MemoryStore):
    """Before each of our first writes, another writer commits the same number."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def create(self, key: str, data: bytes) -> CreateOutcome:
        if self.left:
            self.left -= 1
            other = Transaction.open(_Plain(self), "t", LATEST, MERGE, ambient=FakeAmbient())
            other.append_files([rows("id", f"theirs-{self.left}")]).commit()
        return super().create(key, data)


class _Plain(MemoryStore):
    def __init__(self, of: MemoryStore) -> None:
        super().__init__()
        self._held, self._folders, self._lock = of._held, of._folders, of._lock


def test_a_retry_never_appends_twice() -> None:
    store = _Overtaken(5)
    transaction = Transaction.open(store, "t", LATEST, MERGE, ambient=FakeAmbient())
    assert transaction.append_files([rows("id", "mine")]).commit() == 6
    files = [file.path for file in _stored(store, 6).column_groups[0].files]
    assert files == ["theirs-4", "theirs-3", "theirs-2", "theirs-1", "theirs-0", "mine"]


def test_the_limit_of_retries_ends_a_commit_that_always_loses() -> None:
    store = _Overtaken(100)
    transaction = Transaction.open(store, "t", LATEST, MERGE, 3, ambient=FakeAmbient()).append_files(
        [rows("id", "mine")]
    )
    with pytest.raises(CommitConflict, match="won all 4 attempts"):
        transaction.commit()
    assert store.left == 96


def test_without_retries_one_loss_is_the_end() -> None:
    transaction = Transaction.open(_Overtaken(1), "t", LATEST, MERGE, 0, ambient=FakeAmbient())
    with pytest.raises(CommitConflict, match="won all 1 attempts"):
        transaction.append_files([rows("id", "mine")]).commit()


def test_a_table_with_gaps_goes_on_behind_its_newest_version(store: MemoryStore) -> None:
    _put(store, 3, Manifest())
    _put(store, 9, Manifest())
    assert _open(store).add_delta_log("a", 1).commit() == 10


def test_an_old_version_below_a_gap_goes_on_behind_the_newest_too(store: MemoryStore) -> None:
    _put(store, 3, Manifest())
    _put(store, 9, Manifest())
    assert _open(store, OVERWRITE, version=3).add_delta_log("a", 1).commit() == 10


def test_an_odd_name_is_no_version_and_stops_nobody(store: MemoryStore) -> None:
    _put(store, 1, Manifest())
    store.put("t/_metadata/manifest-20.txt", b"rubbish")
    store.put("t/_metadata/manifest-07.avro", b"rubbish")
    assert _open(store).add_delta_log("a", 1).commit() == 2


def test_the_last_number_has_no_successor(store: MemoryStore) -> None:
    _put(store, MAX_VERSION, Manifest())
    with pytest.raises(InvalidInput, match="no other reader counts so far"):
        _open(store).add_delta_log("a", 1).commit()


def test_a_damaged_newest_manifest_is_an_error_that_names_it(store: MemoryStore) -> None:
    store.put("t/_metadata/manifest-1.avro", b"")
    with pytest.raises(CorruptTable, match=r"memory://test/t/_metadata/manifest-1.avro is empty"):
        _open(store)


@pytest.mark.parametrize("form", ManifestForm)
def test_a_table_keeps_its_form(store: MemoryStore, form: ManifestForm) -> None:
    _put(store, 1, Manifest(form=form))
    _open(store).add_delta_log("a", 1).commit()
    assert _stored(store, 2).form is form


def test_another_form_is_written_when_it_is_asked_for(store: MemoryStore) -> None:
    _open(store, form=ManifestForm.CONTAINER_V6).add_delta_log("a", 1).commit()
    assert _stored(store, 1).form is ManifestForm.CONTAINER_V6
    assert _open(store).add_delta_log("b", 1).commit() == 2
    assert _stored(store, 2).form is ManifestForm.CONTAINER_V6


def test_a_form_that_would_lose_something_is_refused_and_nothing_is_written(store: MemoryStore) -> None:
    _put(store, 1, Manifest(indexes=(Index("v", "t", "p"),), form=ManifestForm.RAW_V2))
    with pytest.raises(UnsupportedTable, match="would lose indexes"):
        _open(store, form=ManifestForm.RAW_V1).add_delta_log("a", 1).commit()
    assert store.head(manifest_key("t/", 2)) is None


def test_stats_with_metadata_need_a_form_that_holds_them(store: MemoryStore) -> None:
    transaction = _open(store, form=ManifestForm.RAW_V3).update_stat("k", ["a"], {"rows": "7"})
    transaction.commit()
    assert _stored(store, 1).stats == {"k": Stat(("a",), {"rows": "7"})}


def test_one_text_in_place_of_a_list_of_files_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidInput, match="give a list of paths"):
        _open(store).update_stat("k", "abc")


def test_an_address_is_opened_with_its_store(tmp_path: Path) -> None:
    with Transaction.open(str(tmp_path), "deep/t") as transaction:
        transaction.append_files([rows("id", str(tmp_path / "deep/t/_data/a"))]).commit()
    (file,) = (tmp_path / "deep/t/_metadata").glob("manifest-*")
    assert file.name == "manifest-1.avro"
    assert decode_manifest(file.read_bytes(), "m").column_groups[0].files[0].path == "a"


def test_a_long_log_is_not_listed_again_by_every_commit(store: MemoryStore) -> None:
    transaction = _open(store, MERGE)
    listed = 0
    plain = store.list_folder

    def counted(prefix: str = "", *, after: str = "") -> object:
        nonlocal listed
        listed += 1
        return plain(prefix, after=after)

    store.list_folder = counted  # type: ignore[method-assign,assignment]  # a spy
    for number in range(5):
        _open_other(store, number)
        transaction.add_delta_log(f"mine-{number}", 1).commit()
    assert len(_logs(store, 10)) == 10
    assert listed == 5  # by the others, that open anew


def _open_other(store: MemoryStore, number: int) -> None:
    _open(store, MERGE).add_delta_log(f"theirs-{number}", 1).commit()
