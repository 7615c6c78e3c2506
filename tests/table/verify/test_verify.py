"""`Table.verify`: every kind of damage is a finding that names its object; sound tables have none."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headgate_schemas.actions.actions import CommitInfo
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Committed
from headgate_table.errors import StoreError, TableNotFound
from headgate_table.indextables.format.names import POINTER, state_key, version_key
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.format.version_file import decode_actions, encode_actions
from headgate_table.interface.findings import Severity, VerifyReport
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, copied, one_thread
from support.coordinated import Coordinated
from support.logs.foreign_log import build_on
from support.stores.faulty import Fault, FaultyStore, Step, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore
from support.tables import add_file, new_table
from support.writers.cases.case import Case
from support.writers.cases.cases import CASES
from support.writers.handmade import HandMade
from support.writers.handmade import add as add_line
from support.writers.handmade import file as foreign_file

# Our reader copes with these, but other readers don't, or a retained version is lost: each is an error with this text.
COPED_WITH = {
    "scala json: a missing checkpoint whose versions are all there": "has no checkpoint",
    "rust: a path added again after its tombstone is hidden by the next state": "tombstones of state 3 hide them",
    "rust: a Rust commit under a Scala state's number is lost": "commit is lost",
    "version file: damage below a state is not read": "not followed by gzip data",
    "pointer: names a missing state, versions lead there": "has no state",
    "pointer: names a missing state, an older state and versions lead there": "has no state",
    "state: older version files are deleted": "commit is lost",
    "state: a version file of its own number is not applied again": "commit is lost",
    "state: a version file with a number below it is ignored": "commit is lost",
    "state: an old one whose manifest was collected does not hide the newest": "is missing",
    "state: of a path in two manifests the last manifest wins": "live twice",
    "names: a folder where a version file could be is ignored": "no writer can put that part there",
    "entry: every optional field set": "document mappings that nothing defines",
}
NO_LOG = {"state: no log at all", "state: an empty log folder"}


def _is_coped_with(case: Case) -> bool:
    return case.name in COPED_WITH or case.name.startswith("pointer: unusable")


def _named(cases: list[Case]) -> list[object]:
    return [pytest.param(case, id=case.name) for case in cases]


SOUND = [case for case in CASES if case.readable and not _is_coped_with(case)]
UNSOUND = [case for case in CASES if (_is_coped_with(case) or not case.readable) and case.name not in NO_LOG]


def verified(case: Case, root: Path) -> VerifyReport:
    root = root / "table"
    case.build(root)
    table = Table(LocalStore(str(root), SystemAmbient()), SystemAmbient(), one_thread())
    return table.verify(data_files=False)


@pytest.mark.parametrize("case", _named(SOUND))
def test_a_sound_table_of_any_writer_has_no_error(case: Case, tmp_path: Path) -> None:
    assert verified(case, tmp_path).of(Severity.ERROR) == []


@pytest.mark.parametrize("case", _named(UNSOUND))
def test_a_table_that_some_reader_refuses_has_an_error(case: Case, tmp_path: Path) -> None:
    errors = verified(case, tmp_path).of(Severity.ERROR)
    wanted = COPED_WITH.get(case.name, "")
    assert any(wanted in error.what for error in errors), errors


@pytest.mark.parametrize("name", sorted(NO_LOG))
def test_without_a_log_there_is_nothing_to_verify(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    with pytest.raises(TableNotFound):
        verified(case, tmp_path)


@pytest.fixture
def world() -> World:
    """Seven commits of a file each in two partitions, one removed; states 3 and 6, then versions 7 and 8."""
    world = World("region")
    for number in range(7):
        world.append(hours=1, region="eu" if number % 2 else "us")
    world.accepted(world.table.delete(paths=["region=us/file-0001.parquet"]))
    return world


def errors(world: World, store: Store | None = None) -> list[tuple[str, str]]:
    return [(item.object, item.what) for item in world.reopened(store).verify().of(Severity.ERROR)]


def test_our_own_table_has_no_finding_at_all(world: World) -> None:
    assert world.reopened().verify().findings == ()


def test_the_report_counts_what_was_looked_at(world: World) -> None:
    checked = world.reopened().verify().checked
    assert (checked.versions, checked.states, checked.manifests, checked.entries) == (9, 2, 2, 6)
    assert (checked.replayed, checked.data_files) == (2, 6)


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _garbled(data: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in data)


@pytest.mark.parametrize("harm", [_cut, _garbled])
def test_damage_to_any_object_of_the_log_is_an_error_that_names_it(
    world: World, harm: Callable[[bytes], bytes]
) -> None:
    for key in world.names(""):
        if key.startswith("_transaction_log/"):
            store = copied(world.store, world.clock)
            store.put(key, harm(store.get(key)))
            assert key in [name for name, _ in errors(world, store)], key


def test_emptied_objects_never_make_it_fail(world: World) -> None:
    for key in world.names(""):
        store = copied(world.store, world.clock)
        store.put(key, b"")
        world.reopened(store).verify()


def test_a_missing_object_of_the_newest_version_is_an_error(world: World) -> None:
    """Version files that a state covers may be gone, and state 3 too: replay from version 0 makes up for it."""
    for name in (
        version_key(7),
        *(f"_transaction_log/{name}" for name in world.names() if name.startswith("manifests/")),
    ):
        store = copied(world.store, world.clock)
        store.delete([name])
        assert errors(world, store) != [], name


def test_a_gap_says_which_versions_it_cuts_off(world: World) -> None:
    world.store.delete([version_key(7)])
    assert ("version 7", "a gap: version 8 and all later ones can't be rebuilt") in errors(world)


def test_a_gap_below_a_state_is_an_error_that_says_what_is_cut_off(world: World) -> None:
    world.store.delete([version_key(4)])
    assert [(name, what.partition("; ")[2]) for name, what in errors(world)] == [
        (version_key(4), "versions 4 to 5 can't be rebuilt")
    ]


def test_a_state_that_lacks_a_committed_file_is_told_from_replay(world: World) -> None:
    """The state of version 6 lists only what that of version 3 does."""
    state = world.store.get(state_key(3))
    world.store.put(state_key(6), _renumbered(state, 3, 6))
    assert any(name == version_key(6) and "lost" in what for name, what in errors(world))


def test_a_version_that_came_late_into_a_cleaned_number_is_no_lost_commit() -> None:
    """Its writer found out and committed anew, so nothing is to be done."""
    coordinated = Coordinated(interval=1)
    coordinated.appended("one")
    late = coordinated.table.version + 1
    direct = coordinated.rig.table()
    assert isinstance(direct.append([add_file("two")]), Committed)
    assert isinstance(direct.append([add_file("three")]), Committed)
    direct.truncate_history()
    coordinated.appended("four")
    assert version_key(late) in {info.key for info in direct.store.list("_transaction_log/")}, "it came late"
    report = coordinated.table.verify(data_files=False)
    assert report.errors == 0, report.findings
    found = next(finding for finding in report.findings if finding.object == version_key(late))
    assert found.severity is Severity.NOTE
    assert "were added again" in found.what


def test_a_state_that_differs_from_replay_in_a_part_of_a_version_is_an_error() -> None:
    store = MemoryStore(FakeAmbient())

    def build(made: HandMade) -> None:
        made.version(1, add_line(foreign_file("a")), add_line(foreign_file("b")))
        made.state(1, [made.manifest([foreign_file("a"), foreign_file("c")])])
        made.pointer(1)

    build_on(store, build)
    report = Table(store, FakeAmbient(), one_thread()).verify(data_files=False)
    found = [item.what for item in report.of(Severity.ERROR)]
    assert found == [
        "it differs from what the versions before it make of the table: it lacks b.parquet and has c.parquet besides"
    ]


def _renumbered(data: bytes, old: int, new: int) -> bytes:
    state = decode_state(data, "state")
    assert state.version == old
    return encode_state(replace(state, version=new, created_at=state.created_at + 1), bytes(16))


def test_bounds_that_leave_out_a_value_are_an_error() -> None:
    store = MemoryStore(FakeAmbient())

    def build(made: HandMade) -> None:
        info = made.manifest([foreign_file("a", region="eu"), foreign_file("b", region="us")])
        made.state(1, [{**info, "partitionBounds": {"region": {"min": "af", "max": "fr"}}}])
        made.pointer(1)

    build_on(store, build, "region")
    report = Table(store, FakeAmbient(), one_thread()).verify(data_files=False)
    assert [("region lies between 'af' and 'fr'" in item.what) for item in report.of(Severity.ERROR)] == [True]


@pytest.mark.parametrize("bounds", [("1", "12"), ("1", "9")])
def test_bounds_of_numbers_hold_in_the_order_of_either_writer(bounds: tuple[str, str]) -> None:
    """Months 1 to 12: as numbers 1 to 12, as texts of older writers 1 to 9."""
    store = MemoryStore(FakeAmbient())

    def build(made: HandMade) -> None:
        info = made.manifest([foreign_file(f"f{month}", month=str(month)) for month in range(1, 13)])
        low, high = bounds
        made.state(1, [{**info, "partitionBounds": {"month": {"min": low, "max": high}}}])
        made.pointer(1)

    build_on(store, build, "month")
    assert Table(store, FakeAmbient(), one_thread()).verify(data_files=False).of(Severity.ERROR) == []


def test_wrong_totals_of_a_state_are_warnings_because_other_writers_estimate() -> None:
    store = MemoryStore(FakeAmbient())

    def build(made: HandMade) -> None:
        made.state(1, [made.manifest([foreign_file("a", 5)])], numFiles=2, totalBytes=6)
        made.pointer(1)

    build_on(store, build)
    report = Table(store, FakeAmbient(), one_thread()).verify(data_files=False)
    assert (report.ok, len(report.of(Severity.WARNING))) == (True, 2)


def test_a_missing_live_file_is_an_error(world: World) -> None:
    world.store.delete(["region=eu/file-0002.parquet"])
    assert [name for name, _ in errors(world)] == ["region=eu/file-0002.parquet"]


def test_a_live_file_of_another_size_is_an_error(world: World) -> None:
    world.store.put("region=eu/file-0002.parquet", b"short")
    assert errors(world) == [
        ("region=eu/file-0002.parquet", "it takes 5 bytes, but its entry says 12: it was truncated or replaced")
    ]


def test_a_path_that_reads_like_another_one_when_unescaped_is_found_all_the_same() -> None:
    store = MemoryStore()
    table = new_table(store)
    for path in ("k=a%2Cb/x", "k=a%252Cb/x"):
        store.put(f"{path}.parquet", b"rows")
        table.append([add_file(path, 4)])
    assert table.verify().findings == ()
    store.delete(["k=a%252Cb/x.parquet"])
    (found,) = table.verify().findings
    assert (found.object, found.what) == ("k=a%252Cb/x.parquet", "the file is missing, but it is live")


def test_a_missing_file_that_only_earlier_versions_name_is_a_warning(world: World) -> None:
    world.store.delete(["region=us/file-0001.parquet"])
    report = world.reopened().verify()
    assert [(item.severity, item.object) for item in report.findings] == [
        (Severity.WARNING, "region=us/file-0001.parquet")
    ]


def test_leftovers_are_notes(world: World) -> None:
    leftovers = [
        "_transaction_log/manifests/manifest-00000000.avro",
        "_transaction_log/strange.txt",
        "region=eu/orphan.parquet",
    ]
    for key in leftovers:
        world.store.put(key, b"leftover")
    report = world.reopened().verify()
    assert sorted((item.severity.value, item.object) for item in report.findings) == [
        ("note", key) for key in leftovers
    ]


def test_files_of_a_table_inside_hide_no_leftover(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.verify.files.MAX_FINDINGS", 2)
    for key in ("INNER/a", "INNER/b", "INNER/c", "INNER/_transaction_log/00000000000000000000.json", "orphan.parquet"):
        world.store.put(key, b"leftover")
    assert [item.object for item in world.reopened().verify().findings] == ["orphan.parquet"]


@pytest.mark.parametrize("changes", [{"format_version": 2}, {"protocol_version": 5}], ids=str)
def test_a_kept_state_of_a_newer_release_is_an_error_and_no_end(world: World, changes: dict[str, int]) -> None:
    """Break: `UNTOLD` leaves out `UnsupportedTable`."""
    state = decode_state(world.store.get(state_key(3)), "state 3")
    world.store.put(state_key(3), encode_state(replace(state, **changes), bytes(16)))  # type: ignore[arg-type]  # its fields
    assert any(name == state_key(3) and "Upgrade Headgate" in what for name, what in errors(world))


def test_a_file_of_a_version_that_came_after_the_listing_of_the_log_is_no_leftover(world: World) -> None:
    """Break: only what the inventory shows counts as named."""

    def append_once(step: Step) -> None:
        if step.key == state_key(6) and len(world.versions()) == 9:
            world.append(region="eu")

    assert world.reopened(FaultyStore(world.store, append_once)).verify().findings == ()
    assert len(world.versions()) == 10


def test_hidden_files_and_sidecars_are_nobodys_business(world: World) -> None:
    for key in ("_SUCCESS", ".part.crc", "_headgate/claims/a", "_transaction_log/.x.crc", "_transaction_log/a.json#1"):
        world.store.put(key, b"hidden")
    assert world.reopened().verify().findings == ()


def test_a_missing_pointer_is_a_warning_since_others_ignore_states_then(world: World) -> None:
    world.store.delete([POINTER])
    report = world.reopened().verify()
    assert [(item.severity, item.object) for item in report.findings] == [(Severity.WARNING, POINTER)]


def test_a_log_of_which_only_the_pointer_is_left_is_an_error(world: World) -> None:
    world.store.delete([f"_transaction_log/{name}" for name in world.names() if not name.startswith("_last")])
    report = world.reopened().verify()
    assert (report.version, report.ok) == (-1, False)


def test_what_was_read_before_the_damage_does_not_hide_it(world: World) -> None:
    table = world.reopened()
    table.snapshot().paths()
    victim = next(name for name in world.names() if name.startswith("manifests/"))
    world.store.put(f"_transaction_log/{victim}", b"damaged")
    assert not table.verify().ok


def test_a_protocol_that_is_too_new_is_an_error(world: World) -> None:
    actions = decode_actions(world.store.get(version_key(8)), "8")
    actions = [action for action in actions if not isinstance(action, CommitInfo)]
    data = encode_actions(actions, compressed=False) + b'{"protocol":{"minReaderVersion":9,"minWriterVersion":9}}\n'
    world.store.put(version_key(8), data)
    assert any("protocol 9" in what for _, what in errors(world))


@pytest.mark.parametrize("operation", ["list", "get"])
def test_a_store_that_does_not_answer_raises(world: World, operation: str) -> None:
    with pytest.raises(StoreError):
        world.reopened(FaultyStore(world.store, on(operation, Fault.REFUSED))).verify()


def test_a_writer_killed_at_any_step_leaves_no_error(world: World) -> None:
    def work(store: Store) -> None:
        table = world.reopened(store, seed="writer")
        table.append([add_file("new", 3, region="eu")])
        table.compact()

    def fresh() -> Store:
        store = copied(world.store, world.clock)
        store.put("region=eu/new.parquet", b"new")
        return store

    for death in deaths(fresh, work):
        assert errors(world, death.store) == [], death.step


def test_a_state_that_remembers_is_history_whatever_the_clocks_said(world: World) -> None:
    """Break: `StateVerifier` judges states by their times alone, and says that purge deletes what recovery needs."""
    reader = world.table.reader
    key = state_key(reader.states_in_order(reader.full_listing())[0])
    state = decode_state(world.store.get(key), key)
    assert state.has_coordinator
    world.store.put(key, encode_state(replace(state, created_at=state.created_at + 10**9), bytes(16)))
    assert [finding for finding in world.table.verify().findings if "no history" in finding.what] == []
