"""Checks a machine: Python, our libraries and those of the extras, and a Java for Spark."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec

from headgate.doctor.findings import DoctorFinding, Health
from headgate.spark.java_home import java_home
from headgate_schemas.errors import InvalidInput
from headgate_schemas.version import __version__

MIN_PYTHON = (3, 11)
LIBRARIES = {
    "pydantic": "reads messages and settings",
    "numpy": "counts and sorts",
    "pyarrow": "reads and writes Arrow and Parquet",
    "datafusion": "decodes manifests",
    "fastavro": "writes states and manifests",
    "cramjam": "reads and writes the snappy codec",
    "zstandard": "reads and writes the zstd codec",
    "sqlglot": "reads predicates",
    "lark": "reads operator statements",
}
EXTRAS = {
    "s3": ("boto3", "boto3", "tables at s3://"),
    "azure": ("azure.storage.blob", "azure-storage-blob", "tables at az:// and abfss://"),
    "kafka": ("kafka", "kafka-python", "buses at kafka://"),
    "spark": ("pyspark", "pyspark", "tables in Spark, and merging on a cluster"),
}
"""By extra: a module of it, its main library, and what it is for."""


def examine_machine() -> Iterator[DoctorFinding]:
    """The findings, in order, each as soon as it is made."""
    yield _python()
    yield DoctorFinding("headgate", Health.OK, __version__)
    yield from map(_library, LIBRARIES)
    yield from map(_extra, EXTRAS)
    if _is_present(EXTRAS["spark"][0]):
        yield _java()


def _python() -> DoctorFinding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        return DoctorFinding(
            "python", Health.PROBLEM, found, f"install Python {'.'.join(map(str, MIN_PYTHON))} or newer"
        )
    return DoctorFinding("python", Health.OK, found)


def _library(name: str) -> DoctorFinding:
    try:
        return DoctorFinding(name, Health.OK, version(name))
    except PackageNotFoundError:
        return DoctorFinding(
            name, Health.PROBLEM, f"missing; it {LIBRARIES[name]}", f"pip install {_requirement(name)}"
        )


def _requirement(name: str) -> str:
    """The requirement of the distribution, if it is installed."""
    try:
        wanted = requires("headgate") or []
    except PackageNotFoundError:
        wanted = []
    found = [text for text in wanted if text.split(";")[0].lower().startswith(name)]
    return f"'{found[0].split(';')[0].strip()}'" if found else name


def _extra(name: str) -> DoctorFinding:
    module, library, purpose = EXTRAS[name]
    if _is_present(module):
        return DoctorFinding(f"extra {name}", Health.OK, f"{library} {_version_of(library)}, for {purpose}")
    return DoctorFinding(
        f"extra {name}", Health.NOTE, f"not installed, needed for {purpose}", f"pip install 'headgate[{name}]'"
    )


def _version_of(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "of unknown version"


def _is_present(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _java() -> DoctorFinding:
    """Spark needs a Java. A cluster has its own, so a missing one on this machine isn't a problem in itself."""
    try:
        home = java_home()
    except InvalidInput as error:
        found, _, mend = str(error).partition(". To mend it, ")
        return DoctorFinding("java", Health.NOTE, found, mend)
    return DoctorFinding("java", Health.OK, f"{home}; headgate.spark.local_environment() tells sessions of it")
