"""Prints docs/settings.md from the settings in the code. `test_settings_page` keeps the page equal to what this prints."""

import sys
from collections.abc import Callable, Iterable, Iterator

from headgate.settings.worker_settings import TERMS
from headgate_worker.limits import DEFAULT_TERMS
from tooling.pages.settings_rows import (
    Process,
    Row,
    Spellings,
    kafka_rows,
    process_rows,
    process_spellings,
    processes,
    spec_settings,
    store_rows,
    table_rows,
    term_rows,
)

HEAD = """# Settings

This page lists every setting with its default, its values, and its spelling in each place. An unknown setting and an invalid
value are errors that name them.

## Where settings come from

| place | how |
| --- | --- |
| options of a command | `--set` (tables), `--store` (stores), `--bus`, and options of its own |
| environment | `HEADGATE_…` |
| a TOML file | named by `--config` or `HEADGATE_CONFIG`; for `headgate table create` by `--settings-file` |
| Python | `Table.open(…, settings={…}, storage={…})` |
| a table's configuration | `headgate.…` or `indextables.…`, by `headgate table create --config` and `headgate propose URI alter --config`; it applies to everybody who opens the table |
| Spark | `spark.headgate.…` or `spark.indextables.…` in the session, or as an option of one read or write ([Spark](spark.md)) |

Options override the environment, which overrides the file, which overrides the table's own configuration, which overrides the
default. The file has a section for each kind:

```toml
[store]
s3.endpoint = "http://localhost:9000"

[table]
checkpoint.interval = 20

[bus]
address = "kafka://broker-1:9092,broker-2:9092/headgate"

[committer]
roots = ["s3://lake"]
group-proposals = 500

[worker]
roots = ["s3://lake"]
roles = ["compact", "merge"]
```
"""

TABLES = """
## Tables

A table's configuration holds these settings, and a process can override them for itself. Settings marked *process* apply only
to a process, never from a table's configuration. So no other program can control this machine's folders and memory.
"""

SUBJECTS = (
    ("States and checkpoints", ("checkpoint.", "state.")),
    ("Compaction", ("state.compaction.",)),
    ("Committing and reading", ("transaction.",)),
    ("Cleaning", ("purge.", "state.retention.", "state.gc.")),
    ("Merging", ("merge.",)),
    ("As soon as something was written", ("mergeOnWrite.", "purgeOnWrite.")),
    ("Mirrors for other engines", ("mirror.",)),
    ("Statistics", ("stats.", "dataSkipping")),
    ("What a table remembers", ("coordinator.",)),
    ("Others", ("",)),
)
"""The sections of a table's settings, by how their keys begin; the longest beginning counts."""

STORES = """
## Stores

The cloud's own credential chain supplies missing settings. Known names of other tools work too, such as
`aws_access_key_id` and, in Spark, `spark.hadoop.fs.s3a.access.key`.
"""

BUS = """
## Bus

`bus.address` is the bus for proposals and events: `kafka://host:port,host:port/prefix?name=value&…`, or
`sqlite:///path/to/bus.db` on one machine. Without it, commands commit directly to tables. An empty `HEADGATE_BUS` means no bus,
and `--direct` makes one command commit directly. The names of topics begin with the prefix. Its default is `headgate`. After the
question mark of a Kafka address:
"""

PROCESS = """
## {title}

Of `headgate {name}`{more}.
"""

MORE = {
    "committer": " and `headgate up`",
    "worker": ", and of `headgate up` as `--roles`, `--watch` and `--worker-limit`. A worker needs the committer's settings\n"
    "`group` and `claim-…` to know the lag and the limits of the committers. If you set them, set them for the workers too",
}

TERMS_HEAD = """
How often each role checks a table: `compact-cooldown-ms`, `merge-cooldown-ms` and so on. The defaults are those of
{roles}:
"""

SPEC = """
## Settings of other programs, without effect here

They may stay in a table's configuration.

| setting | why |
| --- | --- |
"""

SPELLINGS = """
## Spellings

In TOML, a setting has its own name, in the section of its heading. The same name follows `--set`, `--store` and `--limit`. In the
environment, case does not matter, nor do underscores within a table's setting. In a table's configuration and in Spark,
`indextables.` means the same as `headgate.`.
"""


def page() -> str:
    return "".join((HEAD, *_tables(), *_stores(), *_processes(), *_without_meaning(), *_spellings()))


def _tables() -> Iterator[str]:
    yield TABLES
    for title, rows in by_subject().items():
        yield f"\n### {title}\n\n" + _table(rows)


def by_subject() -> dict[str, list[Row]]:
    """The settings of tables by section; sections that hold none are left out."""
    found: dict[str, list[Row]] = {title: [] for title, _ in SUBJECTS}
    beginnings = {beginning: title for title, those in SUBJECTS for beginning in those}
    for setting, row in table_rows():
        longest = max((each for each in beginnings if setting.key.startswith(each)), key=len)
        found[beginnings[longest]].append(row)
    return {title: rows for title, rows in found.items() if rows}


def _stores() -> Iterator[str]:
    yield STORES + "\n" + _table(store_rows())
    yield BUS + "\n" + _table(kafka_rows())


def _processes() -> Iterator[str]:
    for process in processes():
        yield PROCESS.format(title=process.name.capitalize(), name=process.name, more=MORE.get(process.name, ""))
        yield "\n" + _table(process_rows(process))
        if process.name == "worker":
            yield TERMS_HEAD.format(roles=", ".join(DEFAULT_TERMS)) + "\n" + _table(term_rows(process, DEFAULT_TERMS))


def _without_meaning() -> Iterator[str]:
    yield SPEC
    yield from (f"| `{setting.key}` | {setting.reason} |\n" for setting in spec_settings() if setting.reason)


def _spellings() -> Iterator[str]:
    yield SPELLINGS
    yield _spelled("Tables", "table", (row for _, row in table_rows()), spark=True, table=True)
    yield _spelled("Stores", "store", store_rows(), spark=True)
    yield (
        "\n### Bus { #spelling-bus }\n\n| `[bus]` | environment | Spark | command |\n| --- | --- | --- | --- |\n"
        "| `address` | `HEADGATE_BUS` | `spark.headgate.bus`, option `bus` | `--bus …` |\n"
    )
    for process in processes():
        yield _spelled(process.name.capitalize(), process.name, _all_rows(process))


def _all_rows(process: Process) -> Iterator[Row]:
    """With those of the roles, each by its own name."""
    yield from process_rows(process)
    if process.name == "worker":
        for key in TERMS:
            yield Row(key, "", "", "", process_spellings(process, key))


def _spelled(title: str, group: str, rows: Iterable[Row], *, spark: bool = False, table: bool = False) -> str:
    columns: list[tuple[str, Callable[[Row], str]]] = [("environment", lambda row: _code(row.spelled.environment))]
    if table:
        columns.append(("Spark; a table's configuration", lambda row: _in_spark_and_table(row.spelled)))
    elif spark:
        columns.append(("Spark", lambda row: _code(row.spelled.spark)))
    else:
        columns.append(("command", lambda row: _code(row.spelled.option)))
    lines = [f"| `[{group}]` | {' | '.join(name for name, _ in columns)} |", f"| --- |{' --- |' * len(columns)}"]
    lines += [f"| `{row.spelled.toml}` | " + " | ".join(said(row) for _, said in columns) + " |" for row in rows]
    return f"\n### {title} {{ #spelling-{group} }}\n\n" + "\n".join(lines) + "\n"


def _in_spark_and_table(spelled: Spellings) -> str:
    return f"{_code(spelled.spark)}<br>" + (_code(spelled.table) if spelled.table else "*process*: not in a table")


def _code(spelling: str) -> str:
    return ", ".join(f"`{each}`" for each in spelling.split(", ") if each)


def _table(rows: Iterable[Row]) -> str:
    lines = ["| setting | default | takes | meaning |", "| --- | --- | --- | --- |"]
    lines += [f"| `{row.key}` | {row.default} | {row.takes} | {row.meaning} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
