"""When two column names are the same name: if they differ in case, or in how Unicode composes a letter, and in nothing else.

Spark ignores case by default; Parquet and Arrow don't. Nobody who looks at a composed letter sees how it is stored.
"""

import unicodedata
from collections.abc import Collection


def name_key(name: str) -> str:
    """Equal for two names exactly if they are the same name."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def stored_names(name: str, held: Collection[str], table: Collection[str]) -> list[str]:
    """The columns of a file that may be the table's column `name`: that one, else those of the same name.

    `held` are the file's columns. A column that `table` has by itself is no other one.
    """
    if name in held:
        return [name]
    key = name_key(name)
    return [other for other in held if name_key(other) == key and other not in table]
