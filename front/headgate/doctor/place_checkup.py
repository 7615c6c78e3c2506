"""Checks a place: its address, the rights of these credentials, clock, disk, conditional writes, and the table in it."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from headgate.doctor.findings import DoctorFinding, Health, clock_finding
from headgate.settings.loading import Settings
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.errors import StoreError, TableNotFound
from headgate_table.indextables.format.names import LOG, MANIFESTS
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.probe import PROBE_FOLDER, probe_conditional_writes
from headgate_table.table import Table

LOW_BYTES = 1 << 30
"""Of free disk: less than this a single merge may need."""
LOW_SHARE = 0.05


def examine_place(uri: str, settings: Settings, ambient: Ambient) -> Iterator[DoctorFinding]:
    """The findings, each as soon as it is made. The objects that it writes are deleted again."""
    try:
        store = open_store(uri, settings.store, ambient)
    except (InvalidInput, StoreError) as error:
        yield DoctorFinding("address", Health.PROBLEM, str(error), "write the address as a path, s3://… or az://…")
        return
    with closing(store):
        yield DoctorFinding("address", Health.OK, store.uri)
        reachable = _reachable(store)
        yield reachable
        if reachable.health is Health.PROBLEM:
            return
        yield from _writable(store, ambient)
    yield from _table(uri, settings, ambient)


def _reachable(store: Store) -> DoctorFinding:
    try:
        found = store.list_folder("")
    except StoreError as error:
        return DoctorFinding("store", Health.PROBLEM, str(error), "check the address, the credentials and the network")
    count = len(found.objects) + len(found.folders)
    return DoctorFinding("store", Health.OK, f"answers; {count} names at the top of the table")


def _writable(store: Store, ambient: Ambient) -> Iterator[DoctorFinding]:
    inside = store.local_path("_")
    folder = None if inside is None else Path(inside).parent
    if folder is not None:
        yield disk_finding("disk", folder)
        if not folder.is_dir():
            yield DoctorFinding("permissions", Health.NOTE, "not tried, because the folder does not exist yet")
            return
        yield _modes(folder)
        closed = _closed_folders(folder)
        if closed:
            mend = f"let this user read and write in the folders below {folder}"
            yield DoctorFinding("permissions", Health.PROBLEM, f"may not write in {', '.join(closed)}", mend)
            return
    permissions, ahead_s = _tried(store, ambient)
    yield permissions
    if ahead_s is not None and folder is None:
        yield clock_finding("clock", ahead_s, "the store's")
    if permissions.health is Health.OK:
        yield _conditional(store, ambient)


def _closed_folders(table: Path) -> list[str]:
    """Folders of the log in which this user may not make files. Each has rights of its own on a local disk."""
    folders = [table / LOG, table / LOG / MANIFESTS]
    return [str(each) for each in folders if each.is_dir() and not os.access(each, os.R_OK | os.W_OK | os.X_OK)]


def _tried(store: Store, ambient: Ambient) -> tuple[DoctorFinding, float | None]:
    """Whether an object can be written, read, listed and deleted; and how far the store's clock is ahead, in seconds."""
    key = f"{PROBE_FOLDER}/{ambient.new_id()}"
    times: list[int] = []

    def look() -> None:
        info = store.head(key)
        if info is not None:
            times.append(info.modified_ms)

    steps: tuple[tuple[str, Callable[[], object]], ...] = (
        ("write", lambda: store.put(key, b"doctor")),
        ("read", lambda: store.get(key)),
        ("look at", look),
        ("list", lambda: store.list_folder(f"{PROBE_FOLDER}/")),
        ("delete", lambda: store.delete([key])),
    )
    before_ms = ambient.now_ms()
    refused: list[str] = []
    for name, step in steps:
        try:
            step()
        except StoreError as error:
            refused.append(f"may not {name}: {error}")
            if name == "write":
                break
    after_ms = ambient.now_ms()
    if refused:
        mend = f"let these credentials, or this user, read, write, list and delete below {store.uri}"
        return DoctorFinding("permissions", Health.PROBLEM, "; ".join(refused), mend), None
    # Stores report whole seconds, rounded down: within the time of the request and one second, the clocks agree.
    ahead_ms = max(0, times[0] - after_ms) + min(0, times[0] + 999 - before_ms) if times else 0
    return DoctorFinding(
        "permissions", Health.OK, "may read, write, list and delete"
    ), ahead_ms / 1000 if times else None


def _modes(folder: Path) -> DoctorFinding:
    status = folder.stat()
    shown = f"{stat.filemode(status.st_mode)}, of user {status.st_uid}"
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        return DoctorFinding(
            "folder", Health.NOTE, f"{shown}: every user of this machine may delete the table", f"chmod o-w {folder}"
        )
    return DoctorFinding("folder", Health.OK, shown)


def disk_finding(check: str, folder: Path) -> DoctorFinding:
    """The free room in this folder, which may not exist yet."""
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    usage = shutil.disk_usage(there)
    shown = f"{usage.free / (1 << 30):,.1f} of {usage.total / (1 << 30):,.1f} GiB free at {there}"
    mend = "free some space, or move to a larger disk"
    if usage.free < LOW_BYTES:
        return DoctorFinding(check, Health.PROBLEM, shown, mend)
    if usage.free < usage.total * LOW_SHARE:
        return DoctorFinding(check, Health.NOTE, shown, mend)
    if not os.access(there, os.W_OK | os.X_OK):
        return DoctorFinding(
            check, Health.PROBLEM, f"{there} may not be written to by this user", f"chmod u+wx {there}"
        )
    return DoctorFinding(check, Health.OK, shown)


def _conditional(store: Store, ambient: Ambient) -> DoctorFinding:
    try:
        report = probe_conditional_writes(store, ambient)
    except StoreError as error:
        return DoctorFinding(
            "conditional writes", Health.PROBLEM, str(error), "check the permissions; reading may still work"
        )
    if report.trusted:
        return DoctorFinding("conditional writes", Health.OK, "create-if-absent and replace-if-unchanged both hold")
    return DoctorFinding(
        "conditional writes", Health.PROBLEM, "; ".join(report.problems), "do not write to tables on this store"
    )


def _table(uri: str, settings: Settings, ambient: Ambient) -> Iterator[DoctorFinding]:
    try:
        table = Table.open(uri, settings.store, settings=settings.table, ambient=ambient)
        yield DoctorFinding("table", Health.OK, f"version {table.version}, {table.snapshot().num_files:,} live files")
    except TableNotFound as error:
        yield DoctorFinding("table", Health.NOTE, str(error), f"headgate table create {uri} --schema …")
        return
    except HeadgateError as error:
        yield DoctorFinding("table", Health.PROBLEM, str(error), f"headgate table verify {uri}")
        return
    yield _verified(table)


def _verified(table: Table) -> DoctorFinding:
    try:
        report = table.verify(data_files=False)
    except HeadgateError as error:
        return DoctorFinding("log", Health.PROBLEM, str(error), "check the permissions")
    if report.ok:
        return DoctorFinding("log", Health.OK, f"sound; {len(report.findings)} warnings and notes")
    return DoctorFinding("log", Health.PROBLEM, f"{report.errors} errors", f"headgate table verify {table.uri}")
