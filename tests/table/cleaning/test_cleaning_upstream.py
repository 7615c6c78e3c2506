"""Upstream's cleaning deletes manifests that kept states still use (docs/format.md, section 6.6). Ours must not.

Its ways are played here from their description, so that each test shows what they would lose on the very same table.
"""

from collections.abc import Callable
from typing import Any

from headgate_table.indextables.format.names import MANIFESTS, log_key, state_folder, state_key
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import HOUR_MS, FakeAmbient
from support.cleaning import one_thread
from support.logs.foreign_log import build_on
from support.stores.memory import MemoryStore
from support.writers.handmade import HandMade
from support.writers.handmade import file as foreign_file

RETENTION = 2
STATES = range(1, 13)
Clean = Callable[[Store, FakeAmbient], None]
Build = Callable[[HandMade], None]


def shared_manifests(made: HandMade) -> None:
    """Every third state begins with a manifest of its own, and the two after it carry it on."""
    carried: list[dict[str, Any]] = []
    for number in STATES:
        manifest = made.manifest([foreign_file(f"f{number}")])
        carried = [manifest] if number % 3 == 1 else [*carried, manifest]
        made.state(number, carried)
    made.pointer(STATES[-1])


def manifest_in_a_folder(made: HandMade) -> None:
    """All states name a manifest that lies in the folder of the first, as old writers kept them."""
    inside = made.manifest([foreign_file("a")], name=f"{state_folder(1)}/manifest-0000000a.avro")
    for number in STATES:
        made.state(number, [inside])
    made.pointer(STATES[-1])


def reopened(store: Store, clock: FakeAmbient) -> Table:
    return Table(store, FakeAmbient("reader", clock.time_ms), one_thread())


def collected_as_the_scala_writer_does(store: Store, clock: FakeAmbient) -> None:
    """Reachable is what the newest states by number refer to, so many as are retained and two more; an hour old goes."""
    table = reopened(store, clock)
    reachable: set[str] = set()
    for version in range(STATES[-1] - RETENTION - 2, STATES[-1] + 1):
        reachable |= {log_key(info.path) for info in table.reader.state(version).manifests}
    for info in list(store.list(log_key(f"{MANIFESTS}/"))):
        if info.key not in reachable and clock.time_ms - info.modified_ms > HOUR_MS:
            store.delete([info.key])


def expired_as_the_rust_writer_does(store: Store, clock: FakeAmbient) -> None:
    """States that are not the pointer's go by age, with all that lies in their folders."""
    for version in STATES[:-1]:
        store.delete([info.key for info in list(store.list(state_key(version, "")))])


def cleaned_here(store: Store, clock: FakeAmbient) -> None:
    report = reopened(store, clock).purge()
    assert report.status == "SUCCESS", report.message


def broken_states(build: Build, clean: Clean, days: int) -> list[int]:
    """States that are still there after a cleaning so many days later, and of which a manifest is gone."""
    clock = FakeAmbient()
    store = build_on(MemoryStore(clock), build)
    clock.advance(hours=24 * days)
    clean(store, clock)
    table = reopened(store, clock)
    held = {info.key for info in store.list()}
    there = [version for version in STATES if state_key(version) in held]
    assert there[-2:], "no state is left"
    return [
        version
        for version in there
        if not {log_key(info.path) for info in table.reader.state(version).manifests} <= held
    ]


def test_the_scala_way_takes_manifests_from_states_that_stay() -> None:
    """So the table tells a right collection from a wrong one."""
    assert broken_states(shared_manifests, collected_as_the_scala_writer_does, days=1) == [1, 2, 3, 4, 5, 6]


def test_here_every_state_within_its_retention_keeps_its_manifests() -> None:
    assert broken_states(shared_manifests, cleaned_here, days=1) == []


def test_here_every_state_that_outlives_others_keeps_its_manifests() -> None:
    assert broken_states(shared_manifests, cleaned_here, days=100) == []


def test_the_rust_way_takes_the_manifest_in_an_old_folder_from_the_newest_state() -> None:
    assert broken_states(manifest_in_a_folder, expired_as_the_rust_writer_does, days=100) == [12]


def test_here_the_manifest_in_the_folder_of_a_deleted_state_stays() -> None:
    assert broken_states(manifest_in_a_folder, cleaned_here, days=100) == []


def test_of_a_foreign_table_the_newest_state_reads_whole_after_any_time() -> None:
    clock = FakeAmbient()
    store = build_on(MemoryStore(clock), shared_manifests)
    before = reopened(store, clock).snapshot().paths()
    clock.advance(hours=24 * 100)
    cleaned_here(store, clock)
    after = reopened(store, clock)
    assert (after.snapshot().paths(), after.verify(data_files=False).of(Severity.ERROR)) == (before, [])
