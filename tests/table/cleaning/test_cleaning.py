"""What cleaning deletes, and what it leaves: the plans, PURGE itself, and every way to die in the middle."""

from dataclasses import replace

import pytest

from headgate_schemas.actions.actions import CommitInfo
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Purge, RejectCode, Rejected
from headgate_table.errors import StoreError
from headgate_table.indextables.cleaning.cleaner import Cleaner
from headgate_table.indextables.cleaning.orphans import OrphanSearch, is_data_key
from headgate_table.indextables.cleaning.plan import (
    HOUR_MS,
    Category,
    Deletion,
    Limits,
    Protected,
    Roots,
    StateFacts,
    plan_cleaning,
)
from headgate_table.indextables.format.names import POINTER, checkpoint_key, state_key, version_key
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.log.inventory import LogInventory, sort_inventory
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import ObjectInfo, Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, copied
from support.logs.foreign_log import build_on
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore
from support.stores.races import race
from support.tables import add_file
from support.writers.handmade import HandMade
from support.writers.handmade import add as add_line
from support.writers.handmade import file as foreign_file

NOW_MS = 1_000 * HOUR_MS
DAYS = 24


def at(key: str, age_hours: float = 900, size: int = 1) -> ObjectInfo:
    return ObjectInfo(key, size, int(NOW_MS - age_hours * HOUR_MS), "etag")


def a_log(
    versions: range, states: tuple[int, ...], *more: ObjectInfo, age_hours: float = 900, pointer: bool = True
) -> LogInventory:
    infos = [at(version_key(version), age_hours) for version in versions]
    infos += [at(state_key(state), age_hours) for state in states]
    infos += [at(POINTER)] if pointer else []
    return sort_inventory([*infos, *more])


def facts(number: int, *manifests: str, **changes: object) -> StateFacts:
    values: dict[str, object] = {"created_at": number, "manifests": frozenset(manifests), "has_metadata": True}
    return StateFacts(**{**values, **changes})  # type: ignore[arg-type]  # the names are those of the class


def roots_of(*states: int, pointer: int | None = None, **changes: object) -> Roots:
    known = {number: facts(number) for number in states}
    values: dict[str, object] = {"pointer": states[-1] if pointer is None else pointer, "states": known}
    return Roots(**{**values, **changes})  # type: ignore[arg-type]  # the names are those of the class


LIMITS = Limits(state_count=2, state_age_ms=168 * HOUR_MS, log_age_ms=720 * HOUR_MS, manifest_age_ms=HOUR_MS)


def gone_versions(inventory: LogInventory, roots: Roots, limits: Limits = LIMITS) -> list[int]:
    plan = plan_cleaning(inventory, roots, limits, NOW_MS)
    return [int(deletion.key[-25:-5]) for deletion in plan.of(Category.VERSION)]


def gone_states(inventory: LogInventory, roots: Roots, limits: Limits = LIMITS) -> list[int]:
    plan = plan_cleaning(inventory, roots, limits, NOW_MS)
    return [int(deletion.key.split("/")[1][7:]) for deletion in plan.of(Category.STATE)]


class TestVersions:
    def test_versions_up_to_the_lowest_state_that_stays_are_deleted_in_ascending_order(self) -> None:
        assert gone_versions(a_log(range(26), (10, 20)), roots_of(10, 20)) == list(range(11))

    def test_a_young_version_ends_the_prefix_even_when_later_ones_are_old(self) -> None:
        inventory = sort_inventory(
            [at(version_key(version), 10 if version == 4 else 900) for version in range(26)]
            + [at(state_key(10)), at(state_key(20)), at(POINTER)]
        )
        assert gone_versions(inventory, roots_of(10, 20)) == [0, 1, 2, 3]

    def test_versions_above_a_state_that_stays_for_its_age_are_kept(self) -> None:
        """Else a late writer could create version 6, find state 5 before it, and believe that it committed."""
        inventory = a_log(range(26), (10, 20), at(state_key(5), 10))
        assert gone_versions(inventory, roots_of(5, 10, 20)) == [0, 1, 2, 3, 4, 5]

    def test_versions_above_a_damaged_state_that_stays_are_kept(self) -> None:
        inventory = a_log(range(26), (10, 20), at(state_key(5), 10))
        roots = Roots(20, {5: None, 10: facts(10), 20: facts(20)})
        assert gone_versions(inventory, roots) == [0, 1, 2, 3, 4, 5]

    def test_nothing_from_the_pointer_on_is_deleted(self) -> None:
        assert gone_versions(a_log(range(41), (5, 30, 40)), roots_of(5, 30, 40, pointer=5)) == [0, 1, 2, 3, 4]

    def test_the_newest_version_file_stays_though_a_state_covers_it(self) -> None:
        assert gone_versions(a_log(range(6), (10, 20)), roots_of(10, 20)) == [0, 1, 2, 3, 4]

    def test_without_a_pointer_no_version_is_deleted(self) -> None:
        roots = Roots(None, {10: facts(10), 20: facts(20)})
        assert gone_versions(a_log(range(26), (10, 20), pointer=False), roots) == []

    def test_a_pointer_to_a_missing_state_stops_the_cleaning_of_the_log(self) -> None:
        plan = plan_cleaning(a_log(range(26), (10, 20)), roots_of(10, 20, pointer=25), LIMITS, NOW_MS)
        assert (plan.deletions, "version 25" in plan.problems[0]) == ((), True)

    def test_the_version_file_that_a_state_takes_its_metadata_from_stays(self) -> None:
        """States of the Scala writer have no metadata; their readers fall back to version file 0."""
        roots = Roots(20, {10: facts(10, has_metadata=False, metadata_version=3), 20: facts(20)})
        assert gone_versions(a_log(range(26), (10, 20)), roots) == [0, 1, 2]

    def test_versions_that_may_have_to_be_announced_again_stay(self) -> None:
        assert gone_versions(a_log(range(26), (10, 20)), roots_of(10, 20, versions_from=4)) == [0, 1, 2, 3]

    def test_a_checkpoint_in_json_covers_versions_like_a_state(self) -> None:
        inventory = a_log(range(26), (), at(checkpoint_key(10)), at(checkpoint_key(20)))
        assert gone_versions(inventory, Roots(20, {})) == list(range(11))


class TestStates:
    @pytest.mark.spec("testRetentionByVersionCount")
    def test_the_newest_states_stay_by_count_whatever_their_age(self) -> None:
        limits = Limits(3, 168 * HOUR_MS, 720 * HOUR_MS, HOUR_MS)
        inventory = a_log(range(51), (10, 20, 30, 40, 50))
        assert gone_states(inventory, roots_of(10, 20, 30, 40, 50), limits) == [10, 20]

    @pytest.mark.spec("testRetentionByAge")
    def test_a_state_within_the_retention_stays_whatever_its_place(self) -> None:
        inventory = a_log(range(51), (30, 40, 50), at(state_key(10), 169), at(state_key(20), 167))
        assert gone_states(inventory, roots_of(10, 20, 30, 40, 50)) == [10, 30]

    def test_two_states_stay_when_the_setting_says_one(self) -> None:
        limits = Limits(1, 0, 0, 0)
        assert gone_states(a_log(range(31), (10, 20, 30)), roots_of(10, 20, 30), limits) == [10]

    @pytest.mark.spec("testCleanupPreservesCurrentState")
    def test_the_state_that_the_pointer_names_stays_though_newer_ones_exist(self) -> None:
        inventory = a_log(range(51), (10, 20, 30, 40, 50))
        assert gone_states(inventory, roots_of(10, 20, 30, 40, 50, pointer=20)) == [10]

    def test_the_newest_state_from_which_a_committer_recovers_stays(self) -> None:
        """Foreign commits drop the field, so the newest states may not have it."""
        known = {number: facts(number, has_coordinator=number in (10, 20)) for number in (10, 20, 30, 40, 50)}
        inventory = a_log(range(51), (10, 20, 30, 40, 50))
        assert gone_states(inventory, Roots(50, known)) == [10, 30]

    def test_the_only_state_with_metadata_stays_for_those_that_have_none(self) -> None:
        known = {number: facts(number, has_metadata=number == 10) for number in (10, 20, 30, 40)}
        assert gone_states(a_log(range(0), (10, 20, 30, 40)), Roots(40, known)) == [20]

    def test_a_number_used_again_later_does_not_count_among_the_newest(self) -> None:
        """Fixture-like: state 0 written last, as a checkpoint of what was current then."""
        known = {0: facts(0, created_at=99), 1: facts(1), 2: facts(2)}
        assert gone_states(a_log(range(1), (0, 1, 2)), Roots(2, known)) == [0]

    def test_the_newest_two_numbers_stay_whatever_wrong_clocks_said(self) -> None:
        """Somebody is at work with the one before the newest, who didn't look at its time."""
        known = {1: facts(1), 2: facts(2), 3: facts(3, created_at=99), 4: facts(4)}
        assert gone_states(a_log(range(5), (1, 2, 3, 4)), Roots(4, known)) == [1]

    def test_old_checkpoints_and_their_parts_are_deleted_main_file_first(self) -> None:
        part = "_transaction_log/00000000000000000010.checkpoint.0123456789ab.00001.json"
        inventory = a_log(
            range(31), (), at(checkpoint_key(10)), at(part), at(checkpoint_key(20)), at(checkpoint_key(30))
        )
        plan = plan_cleaning(inventory, Roots(30, {}), LIMITS, NOW_MS)
        assert [deletion.key for deletion in plan.of(Category.CHECKPOINT)] == [checkpoint_key(10), part]

    def test_states_are_deleted_before_versions_and_manifests_last(self) -> None:
        manifest = at("_transaction_log/manifests/manifest-00000000.avro")
        plan = plan_cleaning(a_log(range(31), (10, 20, 30), manifest), roots_of(10, 20, 30), LIMITS, NOW_MS)
        order = [deletion.category for deletion in plan.deletions]
        ranks = [list(Category).index(category) for category in order]
        assert (ranks, set(order)) == (sorted(ranks), {Category.STATE, Category.VERSION, Category.MANIFEST})


def manifest(name: str, age_hours: float = 900) -> ObjectInfo:
    return at(f"_transaction_log/manifests/manifest-{name}.avro", age_hours)


class TestManifests:
    def gone(self, inventory: LogInventory, roots: Roots, limits: Limits = LIMITS) -> list[str]:
        return [deletion.key for deletion in plan_cleaning(inventory, roots, limits, NOW_MS).of(Category.MANIFEST)]

    def test_a_manifest_of_any_retained_state_stays(self) -> None:
        """Upstream looks at a fixed number of states below the newest; older ones that survive lose theirs."""
        kept = manifest("000000aa")
        old = {number: facts(number) for number in range(11, 40)}
        inventory = a_log(range(40), tuple(range(10, 40)), kept, age_hours=10)
        assert self.gone(inventory, Roots(39, {10: facts(10, kept.key), **old})) == []

    @pytest.mark.spec("testCleanupOrphanedManifests")
    def test_an_old_manifest_that_no_state_refers_to_is_deleted(self) -> None:
        orphan, used = manifest("000000aa"), manifest("000000bb")
        roots = Roots(20, {10: facts(10), 20: facts(20, used.key)})
        assert self.gone(a_log(range(21), (10, 20), orphan, used), roots) == [orphan.key]

    def test_a_young_manifest_stays_for_the_writer_that_may_be_about_to_use_it(self) -> None:
        assert self.gone(a_log(range(21), (10, 20), manifest("000000aa", 0.9)), roots_of(10, 20)) == []

    def test_no_setting_lets_a_manifest_of_a_few_minutes_be_deleted(self) -> None:
        limits = Limits(2, 0, 0, 0)
        inventory = a_log(range(21), (10, 20), manifest("000000aa", 0.2), manifest("000000bb", 0.5))
        assert self.gone(inventory, roots_of(10, 20), limits) == [manifest("000000bb").key]

    def test_a_manifest_that_a_version_after_the_newest_state_swaps_in_stays(self) -> None:
        swapped = manifest("000000aa")
        roots = roots_of(10, 20, manifests=frozenset({swapped.key}))
        assert self.gone(a_log(range(25), (10, 20), swapped), roots) == []

    def test_a_manifest_in_the_folder_of_a_deleted_state_stays_while_a_later_state_refers_to_it(self) -> None:
        """Upstream deletes the whole folder and with it what later states list."""
        inside, unused = at(state_key(5, "manifest-0a.avro")), at(state_key(5, "manifest-0b.avro"))
        known = {5: facts(5, inside.key, unused.key), 10: facts(10, inside.key), 20: facts(20, inside.key)}
        plan = plan_cleaning(a_log(range(21), (5, 10, 20), inside, unused), Roots(20, known), LIMITS, NOW_MS)
        assert [deletion.key for deletion in plan.of(Category.STATE)] == [state_key(5)]
        assert [deletion.key for deletion in plan.of(Category.MANIFEST)] == [unused.key]

    def test_while_a_state_can_not_be_read_no_manifest_is_deleted(self) -> None:
        roots = Roots(20, {10: None, 20: facts(20)})
        plan = plan_cleaning(a_log(range(21), (10, 20), manifest("000000aa"), age_hours=1), roots, LIMITS, NOW_MS)
        assert (plan.deletions, "state 10" in plan.problems[0]) == ((), True)


def looked(search: OrphanSearch, *infos: ObjectInfo) -> list[str]:
    for info in infos:
        search.see(info)
    return [info.key for info in search.found(lambda: infos)]


class TestOrphans:
    def found(self, named: set[str], *infos: ObjectInfo) -> list[str]:
        return looked(OrphanSearch(named, NOW_MS - 24 * HOUR_MS, limit=100), *infos)

    def test_whole_paths_are_compared_and_not_names(self) -> None:
        """Upstream compares names, so that a file of one partition hides an orphan of another."""
        assert self.found({"date=1/a.split"}, at("date=1/a.split"), at("date=2/a.split")) == ["date=2/a.split"]

    @pytest.mark.parametrize(
        "key",
        [
            "_transaction_log/x.json",
            "_headgate/claims/x",
            "_temporary/0/part.parquet",
            "_SUCCESS",
            ".part.crc",
            "d=1/.x",
            "part.parquet#1",
        ],
    )
    def test_what_is_hidden_is_never_a_data_file(self, key: str) -> None:
        assert not is_data_key(key)

    def test_a_partition_whose_column_begins_with_an_underscore_is_not_hidden(self) -> None:
        assert is_data_key("_day=1/part.parquet")

    def test_a_young_file_is_never_found(self) -> None:
        assert self.found(set(), at("a.parquet", 23), at("b.parquet", 25)) == ["b.parquet"]

    def test_files_of_a_table_inside_of_the_table_are_left_alone(self) -> None:
        inner = at("inner/_transaction_log/00000000000000000000.json")
        assert self.found(set(), at("inner/A.parquet"), inner, at("inner/x.parquet"), at("y.parquet")) == ["y.parquet"]

    def test_the_search_ends_at_its_limit_and_says_so(self) -> None:
        search = OrphanSearch(set(), NOW_MS, 2)
        found = looked(search, *(at(name) for name in ("a", "b", "c")))
        assert (found, search.is_complete) == (["a", "b"], False)

    @pytest.mark.parametrize(
        "log",
        [
            "_delta_log/00000000000000000000.json",
            ".hoodie/hoodie.properties",
            ".hoodie/timeline/20240101.commit",
            "metadata/00000-0b7c9ad1.metadata.json",
            "metadata/v1.metadata.json",
            "metadata/00001-0b7c9ad1.metadata.json.gz",
            "metadata/version-hint.text",
            "_metadata/manifest-1.avro",
            "_versions/1.manifest",
        ],
    )
    def test_files_of_other_formats_tables_inside_are_left_alone(self, log: str) -> None:
        """Break: only logs of our own format and of Delta Lake tell of a table."""
        names = ("data/a.parquet", "part=1/b.parquet", "metadata/snap-1.avro", "z.parquet")
        inside = [at(f"deep/inner/{name}") for name in names]
        listed = sorted([*inside, at(f"deep/inner/{log}"), at("deep/x"), at("y")], key=lambda info: info.key)
        assert self.found(set(), *listed) == ["deep/x", "y"]

    def test_a_folder_that_is_only_called_metadata_is_none_of_a_table(self) -> None:
        assert self.found(set(), at("metadata/v1.metadata.json"), at("a/metadata/b.parquet")) == [
            "metadata/v1.metadata.json",
            "a/metadata/b.parquet",
        ]

    def test_files_of_a_table_inside_take_no_room_from_orphans(self) -> None:
        """Break: `found` doesn't look again; the files of the inner table are there before its log."""
        inner = at("inner/_transaction_log/00000000000000000000.json")
        search = OrphanSearch(set(), NOW_MS, 2)
        found = looked(search, *(at(f"inner/{name}") for name in "ABC"), inner, at("inner/d"), at("x"), at("y"))
        assert (found, search.is_complete) == (["x", "y"], True)

    def test_the_table_is_listed_again_only_where_room_was_taken(self) -> None:
        def never() -> list[ObjectInfo]:
            raise AssertionError("one listing is enough")

        search = OrphanSearch(set(), NOW_MS, 3)
        for info in (at("inner/A"), at("inner/_delta_log/0.json"), at("x"), at("y")):
            search.see(info)
        assert [info.key for info in search.found(never)] == ["x", "y"]

    def test_what_must_stay_takes_no_room_from_orphans_and_is_told(self) -> None:
        search = OrphanSearch(set(), NOW_MS, 2, lambda key: "stays" in key)
        inner = at("inner/_transaction_log/00000000000000000000.json")
        infos = (at("inner/stays"), inner, at("stays-1"), at("stays-2"), at("x"), at("y"))
        assert looked(search, *infos) == ["x", "y"]
        assert (search.left(), search.is_complete) == (["stays-1"], True)


@pytest.fixture
def world() -> World:
    """A table of 40 days: 12 commits, states 3, 6, 9 and 12, and an orphan as old as the table."""
    world = World()
    world.write()
    world.appends(12)
    world.clock.advance(hours=28 * DAYS)
    return world


class TestPurge:
    @pytest.mark.spec("testCleanupOldStateDirs")
    def test_states_past_their_retention_are_deleted(self, world: World) -> None:
        world.table.purge()
        assert world.states() == [9, 12]

    @pytest.mark.spec("testCleanupWithPurgeIntegration")
    def test_one_purge_cleans_states_versions_and_data_files(self, world: World) -> None:
        report = world.table.purge()
        assert (report.status, report.expired_states_deleted, report.orphaned_files_deleted) == ("SUCCESS", 2, 1)
        assert world.versions()[0] == 10

    def test_the_table_shows_the_same_files_afterwards(self, world: World) -> None:
        before = world.table.snapshot().paths()
        world.table.purge()
        assert world.reopened().snapshot().paths() == before

    def test_a_cleaned_table_has_no_error(self, world: World) -> None:
        world.table.purge()
        assert world.reopened().verify().of(Severity.ERROR) == []

    def test_a_dry_run_deletes_and_commits_nothing(self, world: World) -> None:
        before = world.names("")
        report = world.table.purge(dry_run=True)
        assert (report.status, world.names("")) == ("DRY_RUN", before)

    def test_a_dry_run_lists_exactly_what_a_purge_then_deletes(self, world: World) -> None:
        planned = world.table.purge(dry_run=True)
        done = world.table.purge()
        assert [item.key for item in planned.deletions] == [item.key for item in done.deletions]

    def test_a_second_purge_finds_nothing(self, world: World) -> None:
        world.table.purge()
        assert world.table.purge().deletions == ()

    def test_data_files_are_deleted_only_after_their_purge_is_in_the_log(self, world: World) -> None:
        orphan = "file-0001.parquet"
        watched = FaultyStore(world.store)
        world.reopened(watched).purge()
        deleted_at = next(step.number for step in watched.steps if step.operation == "delete" and step.key == orphan)
        committed_at = next(
            step.number for step in watched.steps if step.operation == "create" and step.key.endswith("13.json")
        )
        assert committed_at < deleted_at

    def test_the_purge_commit_names_the_files(self, world: World) -> None:
        world.table.purge()
        infos = [action for action in world.table.reader.actions(13) if isinstance(action, CommitInfo)]
        assert infos[0].body["purged"] == ["file-0001.parquet"]

    def test_a_purged_path_can_not_be_added_any_more(self, world: World) -> None:
        world.table.purge()
        receipt = world.table.append([add_file("file-0001")])
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.PATH_IN_USE

    def test_a_file_that_comes_into_use_before_the_purge_commits_is_left(self, world: World) -> None:
        table = world.table

        def racing(operation: object) -> object:
            world.accepted(table.append([add_file("file-0001")]))
            return table.commit(operation)  # type: ignore[arg-type]  # handed through

        cleaner = Cleaner(table.reader, world.clock, table.options, racing)  # type: ignore[arg-type]  # as above
        report = cleaner.purge()
        assert (report.orphaned_files_deleted, world.store.head("file-0001.parquet") is not None) == (0, True)

    def test_files_that_somebody_is_about_to_commit_are_left(self, world: World) -> None:
        protected = Protected(files=frozenset({"file-0001.parquet"}))
        cleaner = Cleaner(world.table.reader, world.clock, world.table.options, world.table.commit, protected)
        assert cleaner.purge().orphaned_files_found == 0

    def test_a_retention_under_a_day_is_refused(self, world: World) -> None:
        with pytest.raises(InvalidInput, match=r"purge\.retentionCheckEnabled"):
            world.table.purge(older_than_hours=23)

    def test_a_retention_under_a_day_is_taken_when_a_setting_says_that_it_is_meant(self) -> None:
        world = World(purge__retentionCheckEnabled="false")
        world.write()
        world.clock.advance(hours=2)
        assert world.table.purge(older_than_hours=1).orphaned_files_deleted == 1

    def test_the_retentions_come_from_the_arguments_before_the_settings(self, world: World) -> None:
        report = world.table.purge(older_than_hours=24 * 60, log_retention_hours=24 * 60)
        assert (report.retention_hours, report.orphaned_files_found, report.tx_log_files_deleted) == (24 * 60, 0, 0)

    def test_a_removed_file_stays_while_its_removal_is_retained(self) -> None:
        world = World()
        file = world.append()
        world.accepted(world.table.delete(paths=[file.path]))
        world.clock.advance(hours=20 * DAYS)
        world.table.purge()
        assert world.store.head(file.path) is not None

    def test_a_removed_file_goes_when_no_version_and_no_state_names_it_any_more(self) -> None:
        world = World()
        file = world.append()
        world.accepted(world.table.delete(paths=[file.path]))
        world.appends(6)
        world.accepted(world.table.compact())
        world.appends(6)
        world.clock.advance(hours=40 * DAYS)
        world.table.purge()
        assert world.store.head(file.path) is None

    def test_a_file_that_only_an_older_retained_state_lists_stays(self) -> None:
        """Upstream looks at the newest state alone."""
        world = World(interval=1)
        file = world.append(hours=1)
        world.accepted(world.table.overwrite([world.write()]))
        world.accepted(world.table.compact())
        world.clock.advance(hours=20 * DAYS)
        world.store.delete([version_key(1), version_key(2)])
        world.reopened().purge(log_retention_hours=24 * 90)
        assert world.store.head(file.path) is not None

    def test_the_same_name_in_another_partition_does_not_save_an_orphan(self) -> None:
        world = World("region")
        live = world.append(region="eu")
        orphan = live.path.replace("region=eu", "region=us")
        world.store.put(orphan, b"orphan")
        world.clock.advance(hours=10 * DAYS)
        world.table.purge()
        assert (world.store.head(live.path) is not None, world.store.head(orphan)) == (True, None)

    def test_entries_with_whole_addresses_keep_their_files(self) -> None:
        clock = FakeAmbient()
        store = MemoryStore(clock, uri="s3://lake/events")
        built = [foreign_file("a"), {**foreign_file("b"), "path": "s3a://lake/events/b.parquet"}]
        _foreign(store, *(add_line(file) for file in built))
        for name in ("a.parquet", "b.parquet", "c.parquet"):
            store.put(name, b"data")
        clock.advance(hours=10 * DAYS)
        Table(store, clock, World().table.reader.resources).purge()
        assert [info.key for info in store.list() if is_data_key(info.key)] == ["a.parquet", "b.parquet"]

    def test_a_damaged_manifest_stops_the_deletion_of_data_files_and_is_named(self, world: World) -> None:
        victim = next(name for name in world.names() if name.startswith("manifests/"))
        world.store.put(f"_transaction_log/{victim}", b"damaged")
        report = world.reopened().purge()
        assert (report.status, report.orphaned_files_deleted) == ("PARTIAL_SUCCESS", 0)
        assert victim in report.message

    @pytest.mark.parametrize("changes", [{"format_version": 2}, {"protocol_version": 5}], ids=str)
    def test_a_kept_state_of_a_newer_release_stops_the_deletion_of_data_files_alone(
        self, world: World, changes: dict[str, int]
    ) -> None:
        """Break: `UNTOLD` leaves out `UnsupportedTable`; then nothing is reported, and what comes after is never done."""
        state = decode_state(world.store.get(state_key(9)), "state 9")
        world.store.put(state_key(9), encode_state(replace(state, **changes), bytes(16)))  # type: ignore[arg-type]  # its fields
        also = Deletion("_headgate/claims/old", 1, Category.CLAIM, "it is old")
        table = world.reopened()
        report = Cleaner(table.reader, world.clock, table.options, table.commit).purge(also=[also])
        assert (report.status, report.orphaned_files_deleted, also in report.deletions) == ("PARTIAL_SUCCESS", 0, True)
        assert "Upgrade Headgate" in report.message

    def test_a_large_table_inside_hides_no_orphan_from_any_run(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headgate_table.indextables.cleaning.cleaner.MAX_ORPHANS", 2)
        inside = [f"INNER/{name}.parquet" for name in "ABC"]
        for key in (*inside, "INNER/_transaction_log/00000000000000000000.json"):
            world.store.put(key, b"theirs")
        world.clock.advance(hours=28 * DAYS)
        report = world.reopened().purge()
        assert (report.orphaned_files_deleted, report.is_complete) == (1, True)
        assert [key for key in inside if world.store.head(key) is None] == []

    def test_a_failed_delete_is_reported_and_the_rest_left(self, world: World) -> None:
        store = FaultyStore(world.store, on("delete", Fault.REFUSED, key=version_key(4)))
        report = world.reopened(store).purge()
        assert (report.status, world.versions()[0]) == ("PARTIAL_SUCCESS", 4)

    def test_a_store_that_can_not_be_listed_raises(self, world: World) -> None:
        with pytest.raises(StoreError):
            world.reopened(FaultyStore(world.store, on("list", Fault.REFUSED))).purge()

    @pytest.mark.spec("testConcurrentCleanup")
    def test_cleaners_at_the_same_time_do_no_harm(self, world: World) -> None:
        before = world.table.snapshot().paths()
        reports = race(4, lambda number: world.reopened(seed=f"cleaner-{number}").purge())
        assert {report.status for report in reports} == {"SUCCESS"}
        after = world.reopened()
        assert (after.snapshot().paths(), after.verify().of(Severity.ERROR)) == (before, [])

    def test_a_writer_that_was_asleep_during_the_cleaning_does_not_commit_into_the_void(self, world: World) -> None:
        sleeper = world.reopened(seed="sleeper")
        assert sleeper.version == 12
        world.appends(9)
        world.clock.advance(hours=40 * DAYS)
        world.table.purge()
        file = add_file("late")
        version = world.accepted(sleeper.append([file]))
        assert file.path in world.reopened().snapshot(version).paths()

    def test_after_a_kill_at_any_step_the_table_reads_as_before_and_has_no_error(self, world: World) -> None:
        before = world.table.snapshot().paths()
        steps = 0
        for death in deaths(lambda: copied(world.store, world.clock), lambda store: world.reopened(store).purge()):
            after = world.reopened(death.store, seed="after")
            assert after.snapshot().paths() == before, death.step
            assert after.verify().of(Severity.ERROR) == [], death.step
            steps += 1
        assert steps > 30

    def test_after_a_kill_at_any_step_the_next_purge_finishes_the_work(self, world: World) -> None:
        for death in deaths(lambda: copied(world.store, world.clock), lambda store: world.reopened(store).purge()):
            world.reopened(death.store, seed="after").purge()
            left = world.reopened(death.store, seed="last").purge(dry_run=True)
            assert left.deletions == (), death.step

    def test_the_version_file_with_the_only_metadata_of_a_foreign_table_stays(self) -> None:
        clock = FakeAmbient()
        store = MemoryStore(clock)

        def build(made: HandMade) -> None:
            for number in range(1, 8):
                made.state(number, [made.manifest([foreign_file("a")])])
            made.pointer(7)

        build_on(store, build)
        clock.advance(hours=100 * DAYS)
        table = Table(store, clock, World().table.reader.resources)
        table.purge()
        assert table.metadata.id == "table-at-0"
        assert store.head(version_key(0)) is not None

    def test_of_a_foreign_table_old_states_and_their_manifests_go(self) -> None:
        clock = FakeAmbient()
        store = MemoryStore(clock)

        def build(made: HandMade) -> None:
            for number in range(1, 8):
                made.state(number, [made.manifest([foreign_file("a")])])
            made.pointer(7)

        build_on(store, build)
        clock.advance(hours=100 * DAYS)
        report = Table(store, clock, World().table.reader.resources).purge()
        assert (report.expired_states_deleted, report.tx_log_files_deleted) == (5, 5)

    def test_a_purge_of_a_live_path_is_refused(self, world: World) -> None:
        receipt = world.table.commit(Purge((world.table.snapshot().paths()[0],)))
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.STILL_NEEDED


def _foreign(store: Store, *actions: object) -> None:
    def build(made: HandMade) -> None:
        made.version(1, *actions)

    build_on(store, build)
