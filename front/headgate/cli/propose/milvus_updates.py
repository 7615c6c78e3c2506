"""Parses a Milvus transaction from the command line: files, delta logs and stats as options, or everything as JSON."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.cli.terminal.given import wrong
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Milvus
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, DeltaLogType, Resolver, Stat

if TYPE_CHECKING:
    from headgate_table.store.interface import Store

MAX_DOCUMENT_BYTES = 256 << 20
_DATA_FOLDER = "_data/"
_DELTA_LOG = re.compile(r"(.+?):([0-9]{1,18})(?::([a-z-]+))?")
_STAT = re.compile(r"([^=]+)=(.*)")
_TYPES = {kind.name.lower().replace("_", "-"): kind for kind in DeltaLogType}


def delta_log(text: str) -> DeltaLog:
    """`pk_001.log:200` or `pos_001.log:17:positional`."""
    found = _DELTA_LOG.fullmatch(text)
    kind = DeltaLogType.PRIMARY_KEY if found is None or found[3] is None else _TYPES.get(found[3])
    if found is None or kind is None:
        raise wrong(f"{text!r} is no PATH:ENTRIES[:TYPE], such as pk_001.log:200:{'|'.join(_TYPES)}", "--delta-log")
    return DeltaLog(found[1], int(found[2]), kind)


def stats(texts: Sequence[str]) -> dict[str, Stat]:
    """Each is `bloomfilter=a.bin,b.bin`; the list of files may be empty."""
    found: dict[str, Stat] = {}
    for text in texts:
        match = _STAT.fullmatch(text)
        if match is None:
            raise wrong(f"{text!r} is no KEY=PATH,PATH, such as bloomfilter=bf_17.bin", "--stat")
        found[match[1]] = Stat(tuple(path for path in match[2].split(",") if path))
    return found


def document(source: str, resolver: Resolver | None, read_version: int | None) -> Milvus:
    """A `milvus` operation as in docs/messages.md, from a file or (`-`) standard input; options override it."""
    from pydantic import ValidationError

    from headgate_schemas.messages.message_shape import first_problem
    from headgate_schemas.messages.milvus_body import MilvusBody

    try:
        with sys.stdin.buffer if source == "-" else Path(source).open("rb") as stream:
            data = stream.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise wrong(f"{source} can't be read: {error.strerror}", "--updates") from None
    if len(data) > MAX_DOCUMENT_BYTES:
        raise InvalidInput(f"{source} takes more than {MAX_DOCUMENT_BYTES} bytes; make several transactions of it")
    try:
        fields = json.loads(data)
        if not isinstance(fields, dict):
            raise InvalidInput(f"{source} holds no updates: it is no JSON object")
        fields["type"] = "milvus"
        fields |= {} if resolver is None else {"resolver": resolver.value}
        fields |= {} if read_version is None else {"readVersion": read_version}
        return MilvusBody.model_validate_json(json.dumps(fields)).to_operation()
    except ValidationError as error:
        raise InvalidInput(f"{source} holds no updates: {first_problem(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{source} is no JSON: {error}") from None


def appended(store: "Store", paths: Sequence[str]) -> tuple[ColumnGroup, ...]:
    """Parquet files of the table's `_data` folder, with columns and rows from their footers, grouped by columns."""
    from headgate_table.parquet.footer import read_footer

    groups: dict[tuple[str, ...], list[ColumnGroupFile]] = {}
    for path in paths:
        name = path.removeprefix(f"{store.uri}/").removeprefix(_DATA_FOLDER)
        key = _DATA_FOLDER + name
        looked = store.head(key)
        if looked is None:
            raise InvalidInput(f"there is no {key} at {store.uri}: write the file there first")
        footer = read_footer(key, looked.size, lambda start, length, key=key: store.get_range(key, start, length))  # type: ignore[misc]  # bound per turn
        columns = tuple(column.name for column in footer.columns)
        groups.setdefault(columns, []).append(ColumnGroupFile(name, 0, footer.num_rows))
    return tuple(ColumnGroup(columns, tuple(files)) for columns, files in groups.items())
