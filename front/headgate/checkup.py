"""What is wrong with a set-up, and how to mend it: Python, libraries, store, conditional writes, table."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from headgate.settings import Settings
from headgate.spark.java_home import java_home
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.version import __version__
from headgate_table.errors import StoreError, TableNotFound
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.probe import probe_conditional_writes
from headgate_table.table import Table

MIN_PYTHON = (3, 11)
LIBRARIES = {
    "pyarrow": "reads and writes Arrow and Parquet",
    "datafusion": "decodes manifests",
    "fastavro": "writes states and manifests",
    "cramjam": "reads and writes the snappy codec",
    "zstandard": "reads and writes the zstd codec",
    "sqlglot": "reads predicates",
    "lark": "reads operator statements",
}
EXTRAS = {
    "s3": ("boto3", "tables at s3://"),
    "azure": ("azure.storage.blob", "tables at az:// and abfss://"),
    "kafka": ("kafka", "buses at kafka://"),
    "spark": ("pyspark", "tables in Spark, and merging on a cluster"),
}


class Health(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Nothing is wrong, but something is not there."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    health: Health
    found: str
    mend: str | None = None


def examine(uri: str | None, settings: Settings, ambient: Ambient) -> Iterator[Finding]:
    """The findings, in order, each as soon as it is made."""
    yield _python()
    yield Finding("headgate", Health.OK, __version__)
    yield from map(_library, LIBRARIES)
    yield from map(_extra, EXTRAS)
    if _is_present(EXTRAS["spark"][0]):
        yield _java()
    if uri is not None:
        yield from _place(uri, settings, ambient)


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        return Finding("python", Health.PROBLEM, found, f"install Python {'.'.join(map(str, MIN_PYTHON))} or newer")
    return Finding("python", Health.OK, found)


def _library(name: str) -> Finding:
    try:
        return Finding(name, Health.OK, version(name))
    except PackageNotFoundError:
        return Finding(name, Health.PROBLEM, f"missing; it {LIBRARIES[name]}", f"pip install {_requirement(name)}")


def _requirement(name: str) -> str:
    """As the distribution asks for it, where it is installed."""
    try:
        wanted = requires("headgate") or []
    except PackageNotFoundError:
        wanted = []
    found = [text for text in wanted if text.split(";")[0].lower().startswith(name)]
    return f"'{found[0].split(';')[0].strip()}'" if found else name


def _extra(name: str) -> Finding:
    module, purpose = EXTRAS[name]
    if _is_present(module):
        return Finding(f"extra {name}", Health.OK, f"installed, for {purpose}")
    return Finding(
        f"extra {name}", Health.NOTE, f"not installed, needed for {purpose}", f"pip install 'headgate[{name}]'"
    )


def _is_present(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _java() -> Finding:
    """Spark runs on one. A cluster has its own, so that none on this machine is no problem in itself."""
    try:
        home = java_home()
    except InvalidInput as error:
        found, _, mend = str(error).partition(". To mend it, ")
        return Finding("java", Health.NOTE, found, mend)
    return Finding("java", Health.OK, f"{home}; headgate.spark.local_environment() tells sessions of it")


def _place(uri: str, settings: Settings, ambient: Ambient) -> Iterator[Finding]:
    try:
        store = open_store(uri, settings.store, ambient)
    except (InvalidInput, StoreError) as error:
        yield Finding("address", Health.PROBLEM, str(error), "write the address as a path, s3://… or az://…")
        return
    yield Finding("address", Health.OK, store.uri)
    reachable = _reachable(store)
    yield reachable
    if reachable.health is Health.PROBLEM:
        return
    yield _conditional(store, ambient)
    yield from _table(uri, settings, ambient)


def _reachable(store: Store) -> Finding:
    try:
        found = store.list_folder("")
    except StoreError as error:
        return Finding("store", Health.PROBLEM, str(error), "check the address, the credentials and the network")
    count = len(found.objects) + len(found.folders)
    return Finding("store", Health.OK, f"answers; {count} names at the top of the table")


def _conditional(store: Store, ambient: Ambient) -> Finding:
    root = store.local_path("_")
    if root is not None and not Path(root).parent.is_dir():
        return Finding("conditional writes", Health.NOTE, "not tried, because the folder does not exist yet")
    try:
        report = probe_conditional_writes(store, ambient)
    except StoreError as error:
        return Finding(
            "conditional writes", Health.PROBLEM, str(error), "check the permissions; reading may still work"
        )
    if report.trusted:
        return Finding("conditional writes", Health.OK, "create-if-absent and replace-if-unchanged both hold")
    return Finding(
        "conditional writes", Health.PROBLEM, "; ".join(report.problems), "do not write to tables on this store"
    )


def _table(uri: str, settings: Settings, ambient: Ambient) -> Iterator[Finding]:
    try:
        table = Table.open(uri, settings.store, settings=settings.table, ambient=ambient)
        yield Finding("table", Health.OK, f"version {table.version}, {table.snapshot().num_files:,} live files")
    except TableNotFound as error:
        yield Finding("table", Health.NOTE, str(error), f"headgate table create {uri} --schema …")
        return
    except HeadgateError as error:
        yield Finding("table", Health.PROBLEM, str(error), f"headgate table verify {uri}")
        return
    yield _verified(table)


def _verified(table: Table) -> Finding:
    try:
        report = table.verify(data_files=False)
    except HeadgateError as error:
        return Finding("log", Health.PROBLEM, str(error), "check the permissions")
    if report.ok:
        return Finding("log", Health.OK, f"sound; {len(report.findings)} warnings and notes")
    return Finding("log", Health.PROBLEM, f"{report.errors} errors", f"headgate table verify {table.uri}")
