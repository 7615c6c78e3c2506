"""The operations of `headgate propose`, their options, and which options may be combined."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headgate.cli.terminal.given import wrong


class ChangeKind(StrEnum):
    """The operations that a person can propose; `table compact` swaps manifests."""

    CREATE = "create"
    APPEND = "append"
    OVERWRITE = "overwrite"
    DELETE = "delete"
    REWRITE = "rewrite"
    RESTORE = "restore"
    SKIP = "skip"
    ALTER = "alter"
    PURGE = "purge"
    MILVUS = "milvus"


class ResolverName(StrEnum):
    MERGE = "merge"
    FAIL = "fail"
    OVERWRITE = "overwrite"


class IsolationName(StrEnum):
    SNAPSHOT = "snapshot"
    SERIALIZABLE = "serializable"


TAKES: dict[ChangeKind, tuple[str, ...]] = {
    ChangeKind.CREATE: ("--schema", "--partition-by", "--config", "--name", "--description"),
    ChangeKind.APPEND: ("--file",),
    ChangeKind.OVERWRITE: ("--file", "--where"),
    ChangeKind.DELETE: ("--path", "--where"),
    ChangeKind.REWRITE: ("--path", "--file"),
    ChangeKind.RESTORE: ("--version",),
    ChangeKind.SKIP: ("--path", "--reason"),
    ChangeKind.ALTER: ("--schema", "--config", "--unset", "--name", "--description"),
    ChangeKind.PURGE: ("--path",),
    ChangeKind.MILVUS: ("--file", "--delta-log", "--stat", "--updates", "--resolver", "--read-version"),
}
"""The options that say what is to be done; others of them would be ignored, so they are errors."""


def options_by_operation() -> str:
    """The end of the help text, with fixed lines."""
    width = max(map(len, TAKES))
    lines = [f"  {kind.value:{width}}  {' '.join(options)}" for kind, options in TAKES.items()]
    return "\n".join(["\b", "What each operation takes:", *lines])


@dataclass(frozen=True, slots=True)
class AskedChange:
    """The change in the options."""

    files: tuple[str, ...]
    paths: tuple[str, ...]
    where: str | None
    version: int | None
    schema: str | None
    partition_by: str | None
    config: tuple[str, ...]
    unset: tuple[str, ...]
    name: str | None
    description: str | None
    reason: str | None
    delta_logs: tuple[str, ...]
    stats: tuple[str, ...]
    updates: str | None
    resolver: ResolverName | None
    read_version: int | None

    def given(self) -> list[str]:
        """The options that were used."""
        values = {
            "--file": self.files,
            "--path": self.paths,
            "--where": self.where,
            "--version": self.version,
            "--schema": self.schema,
            "--partition-by": self.partition_by,
            "--config": self.config,
            "--unset": self.unset,
            "--name": self.name,
            "--description": self.description,
            "--reason": self.reason,
            "--delta-log": self.delta_logs,
            "--stat": self.stats,
            "--updates": self.updates,
            "--resolver": self.resolver,
            "--read-version": self.read_version,
        }
        return [option for option, value in values.items() if value not in (None, ())]


def check_options(kind: ChangeKind, asked: AskedChange) -> None:
    """Refuses wrong combinations before anything is opened."""
    for option in asked.given():
        if option not in TAKES[kind]:
            raise wrong(f"{kind.value} takes no {option}, only {', '.join(TAKES[kind])}", option)
    needed: dict[ChangeKind, Sequence[tuple[object, str]]] = {
        ChangeKind.CREATE: [(asked.schema, "--schema")],
        ChangeKind.APPEND: [(asked.files, "--file")],
        ChangeKind.DELETE: [(asked.paths or asked.where, "--path or --where")],
        ChangeKind.REWRITE: [(asked.paths, "--path")],
        ChangeKind.RESTORE: [(asked.version is not None, "--version")],
        ChangeKind.SKIP: [(asked.paths, "--path"), (asked.reason, "--reason")],
        ChangeKind.ALTER: [(asked.given(), "one of " + ", ".join(TAKES[ChangeKind.ALTER]))],
        ChangeKind.PURGE: [(asked.paths, "--path")],
        ChangeKind.MILVUS: [
            (
                asked.files or asked.delta_logs or asked.stats or asked.updates,
                "--file, --delta-log, --stat or --updates",
            ),
            (asked.resolver in (None, ResolverName.MERGE) or asked.read_version is not None, "--read-version"),
        ],
    }
    for value, option in needed.get(kind, ()):
        if not value:
            raise wrong(f"{kind.value} needs {option}", option.split(" ")[0].rstrip(","))
    if asked.updates is not None and (asked.files or asked.delta_logs or asked.stats):
        raise wrong("milvus takes either --updates or the options for its parts", "--updates")
    if kind is ChangeKind.DELETE and asked.paths and asked.where is not None:
        raise wrong("delete takes either --path or --where", "--where")
