"""Compares column names: two names are the same if they differ only in case or in how Unicode composes a letter.

Spark ignores case by default; Parquet and Arrow don't. A composed letter looks the same in both of its stored forms.
"""

import unicodedata
from collections.abc import Collection


def name_key(name: str) -> str:
    """A key that is equal for two names exactly if they are the same name."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def stored_names(name: str, held: Collection[str], table: Collection[str]) -> list[str]:
    """The columns of a file that may be the table's column `name`: the one with this exact name, else those with the
    same name.

    `held` are the file's columns. A column that is another column of `table` by its exact name doesn't count.
    """
    if name in held:
        return [name]
    key = name_key(name)
    return [other for other in held if name_key(other) == key and other not in table]
