"""Prints docs/settings.md from the settings in the code. `test_settings_page` keeps the page equal to what this prints."""

import sys
from dataclasses import fields

from headgate_table.indextables.options import SETTINGS, TableOptions

HEAD = """# Settings

Settings of the table log. A table's configuration holds them under `indextables.` or `headgate.` (both name the same
setting); a process overrides them when it opens the table (`Table.open(…, settings={…})`, `headgate --set key=value`).
In a Spark configuration `spark.` stands in front.

| setting | default | meaning |
| --- | --- | --- |
"""


def page() -> str:
    defaults = {field.name: field.default for field in fields(TableOptions)}
    return HEAD + "".join(
        f"| `{setting.key}` | {_shown(defaults[setting.field])} | {setting.meaning} |\n" for setting in SETTINGS
    )


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    sys.stdout.write(page())
