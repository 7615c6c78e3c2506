"""Prints docs/settings.md from the settings in the code. `test_settings_page` keeps the page equal to what this prints."""

import sys
from dataclasses import fields

from headgate_table.indextables.options import SETTINGS, TableOptions
from headgate_table.store.settings import DOCUMENTED_KEYS

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

SOURCES = """
## Where the command finds them

Options of the command come first, then the environment, then a TOML file (`--config`, for `create` `--settings-file`, or
`HEADGATE_CONFIG`). In the environment, `s3.access-key` of a store is `HEADGATE_STORE_S3_ACCESS_KEY`, and
`state.entriesPerManifest` of a table is `HEADGATE_STATE_ENTRIES_PER_MANIFEST`. The file has a table for each:

```toml
[store]
s3.endpoint = "http://localhost:9000"

[table]
checkpoint.interval = 20
```
"""


def page() -> str:
    defaults = {field.name: field.default for field in fields(TableOptions)}
    table = "".join(
        f"| `{setting.key}` | {_shown(defaults[setting.field])} | {setting.meaning} |\n" for setting in SETTINGS
    )
    store = "".join(f"| `{key}` | {STORE_MEANINGS[key]} |\n" for key in DOCUMENTED_KEYS)
    return HEAD + table + STORES + store + SOURCES


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "none"


if __name__ == "__main__":
    sys.stdout.write(page())
