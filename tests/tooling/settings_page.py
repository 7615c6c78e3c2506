"""Prints docs/settings.md from the settings in the code. `test_settings_page` keeps the page equal to what this prints."""

import ast
import inspect
import sys
from dataclasses import fields
from pathlib import Path

from headgate.coordinator_settings import CLAIM_LIMITS, KEYS, LIMITS, CommitterSettings
from headgate.worker_settings import KEYS as WORKER_KEYS
from headgate.worker_settings import LIMITS as WORKER_LIMITS
from headgate.worker_settings import ROLES, SCHEDULE_LIMITS, TERMS, WorkerSettings
from headgate_bus.claims import ClaimLimits
from headgate_committer.limits import CommitterLimits
from headgate_table.indextables.options import SETTINGS, TableOptions
from headgate_table.store.settings import DOCUMENTED_KEYS
from headgate_worker.limits import DEFAULT_TERMS, RoleTerms, ScheduleLimits, WorkerLimits

HEAD = """# Settings

Settings of the table log. A table's configuration holds them under `indextables.` or `headgate.` (both name the same
setting; with neither, the bare name will do). A process overrides them when it opens the table:
`Table.open(…, settings={…})`, or `--set key=value` with any command of `headgate`. In a Spark configuration `spark.` stands
in front.

| setting | default | meaning |
| --- | --- | --- |
"""


STORES = """
## Stores

`Table.open(…, storage={…})`, or `--store key=value` with any command of `headgate`. What is left out comes from the cloud's
own credential chain.

| setting | meaning |
| --- | --- |
"""

STORE_MEANINGS = {
    "s3.endpoint": "Address of a server other than AWS, such as `http://localhost:9000`",
    "s3.region": "Region of the bucket",
    "s3.path-style": "Bucket in the path, not in the host's name; true with an endpoint, else false",
    "s3.access-key": "Access key",
    "s3.secret-key": "Secret key",
    "s3.session-token": "Token of temporary keys",
    "s3.profile": "Profile of the AWS configuration",
    "azure.connection-string": "Everything at once, as the portal shows it",
    "azure.account-url": "Address of the account, where it isn't the usual one",
    "azure.account-name": "Account; also understood from `abfss://` addresses",
    "azure.account-key": "Key of the account",
    "azure.sas-token": "Shared access signature",
    "azure.bearer-token": "Token of a login",
    "local.durable": "false: a local write may be lost in a power cut; for tests and benchmarks",
}

_BESIDES: dict[type, dict[str, str]] = {
    CommitterLimits: {"longest_pause_ms": "The longest such pause"},
    ScheduleLimits: {"longest_backoff_ms": "The longest such pause"},
    ClaimLimits: {
        "max_compressed_bytes": "Bytes of a claimed operation, as it lies on the store",
        "max_bytes": "Bytes of a claimed operation as JSON",
    },
}
"""Where the code needs no words."""

BUS = """
## Bus

| setting | environment | meaning |
| --- | --- | --- |
| `bus.address` | `HEADGATE_BUS` | Where proposals go and events come from: `kafka://host:port,host:port/prefix` or `sqlite:///path/to/bus.db`. Without it, commands commit directly to tables |

`--bus ADDRESS` says the same to one command, and `--direct` makes one that changes a table commit to it directly. An empty
`HEADGATE_BUS` means none.

## Committer

In the TOML table `[committer]`, in the environment as `HEADGATE_COMMITTER_` and the name (`group-proposals` is
`HEADGATE_COMMITTER_GROUP_PROPOSALS`), and as options of `headgate committer` and `headgate up`: `--id`, `--group`, `--log`,
`--root` (repeat for more), and `--limit key=value` for the bounds.

| setting | default | meaning |
| --- | --- | --- |
"""

WORKER = """
## Worker

In the TOML table `[worker]`, in the environment as `HEADGATE_WORKER_` and the name, and as options of `headgate worker`: `--id`,
`--group`, `--roles`, `--log`, `--root` and `--watch` (repeat for more), and `--limit key=value` for the bounds; of
`headgate up` `--roles`, `--watch`, and `--worker-limit key=value`. `HEADGATE_ROOTS` are the roots of committers and workers alike.
How far the committers are and what they take, a worker knows by the committer's settings `group` and `claim-…`: where these are
set, set them for the workers, too.

| setting | default | meaning |
| --- | --- | --- |
"""

TERMS_HEAD = """
How often each role looks at a table, as `compact-cooldown-ms`, `merge-cooldown-ms` and so on:

| setting | compact | merge | clean | meaning |
| --- | --- | --- | --- | --- |
"""

SOURCES = """
## Where the command finds them

Options of the command come first, then the environment, then a TOML file (`--config`, for `create` `--settings-file`, or
`HEADGATE_CONFIG`). In the environment, `s3.access-key` of a store is `HEADGATE_STORE_S3_ACCESS_KEY`, and
`state.entriesPerManifest` of a table is `HEADGATE_STATE_ENTRIES_PER_MANIFEST`; `HEADGATE_ROOTS` are the roots of
committers and workers, with commas between them. The file has a table for each:

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


def page() -> str:
    defaults = {field.name: field.default for field in fields(TableOptions)}
    table = "".join(
        f"| `{setting.key}` | {_shown(defaults[setting.field])} | {setting.meaning} |\n" for setting in SETTINGS
    )
    store = "".join(f"| `{key}` | {STORE_MEANINGS[key]} |\n" for key in DOCUMENTED_KEYS)
    committer = "".join(map(_committer_row, KEYS))
    worker = "".join(_worker_row(key) for key in WORKER_KEYS if key not in TERMS)
    terms = "".join(map(_terms_row, dict.fromkeys(name for _, name in TERMS.values())))
    return HEAD + table + STORES + store + BUS + committer + WORKER + worker + TERMS_HEAD + terms + SOURCES


def _committer_row(key: str) -> str:
    kind: type = CommitterLimits if key in LIMITS else ClaimLimits if key in CLAIM_LIMITS else CommitterSettings
    name = (LIMITS | CLAIM_LIMITS).get(key, key)
    return _row(key, kind, name)


def _worker_row(key: str) -> str:
    kind: type = WorkerLimits if key in WORKER_LIMITS else ScheduleLimits if key in SCHEDULE_LIMITS else WorkerSettings
    return _row(key, kind, (WORKER_LIMITS | SCHEDULE_LIMITS).get(key, key.replace("-", "_")))


def _row(key: str, kind: type, name: str) -> str:
    return f"| `{key}` | {_shown(getattr(kind(), name))} | {meanings(kind)[name].rstrip('.')} |\n"


def _terms_row(name: str) -> str:
    defaults = " | ".join(_shown(getattr(DEFAULT_TERMS[role], name)) for role in ROLES)
    return f"| `…-{name.replace('_', '-')}` | {defaults} | {meanings(RoleTerms)[name].rstrip('.')} |\n"


def meanings(kind: type) -> dict[str, str]:
    """What the fields of a class of settings mean."""
    return field_docstrings(kind) | _BESIDES.get(kind, {})


def field_docstrings(kind: type) -> dict[str, str]:
    """What stands below the fields of a class, on one line each."""
    [body] = [
        node
        for node in ast.parse(Path(inspect.getfile(kind)).read_bytes()).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    found: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                found[name] = " ".join(said.split())
            case _:
                pass
    return found


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(value) or "none"
        case frozenset():
            return ", ".join(sorted(value)) or "none"
        case None:
            return "none"
        case dict():
            return ", ".join(f"{name}={text}" for name, text in value.items()) or "none"
        case _:
            return str(value) or "none"


if __name__ == "__main__":
    sys.stdout.write(page())
