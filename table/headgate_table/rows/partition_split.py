"""Splits rows by the values of their partition columns, and makes the values' texts and folders. With PyArrow alone.

Executors of Spark have these rules in `pyspark_headgate.executor.partition_split`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

Key = tuple[str | None, ...]
"""The texts of a partition, in the order of its columns; None is null."""

_FLOATS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "-0": "-0.0"}
"""Arrow's spellings and those that all readers of a table understand. Zeros keep their sign, though predicates take them for equal."""


def partition_parts(rows: pa.Table, partition: Sequence[str], data: Sequence[str]) -> Iterator[tuple[Key, pa.Table]]:
    """The rows of each partition, in their order, without the partition columns."""
    stored = rows.select(list(data))
    if not partition:
        yield (), stored
        return
    number, keys = _coded(rows, partition)
    order = pc.sort_indices(number)
    runs = pc.run_end_encode(number.take(order))
    whole = stored.combine_chunks()
    begin = 0
    for end, code in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        # Copied, not sliced: a few waiting rows would keep all the others in memory.
        yield keys[code], whole.take(order.slice(begin, end - begin))
        begin = end


def partition_folder(key: Key, partition: Sequence[str], escapes: Mapping[int, str], null_text: str) -> str:
    """`a=1/b=x/`, as Spark names folders; empty without partitions."""
    return "".join(
        f"{name.translate(escapes)}={null_text if text is None else text.translate(escapes)}/"
        for name, text in zip(partition, key, strict=True)
    )


def partition_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as the texts that a table's log stores. The empty text is null, as for readers."""
    if types.is_timestamp(column.type):
        texts = pc.replace_substring_regex(column.cast(pa.string()), r"\.000000(Z?)$", r"\1")
    else:
        texts = column.cast(pa.string())
    if types.is_floating(column.type):
        for arrow, known in _FLOATS.items():
            texts = pc.if_else(pc.equal(texts, arrow), known, texts)
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _coded(rows: pa.Table, columns: Sequence[str]) -> tuple[pa.Array, list[Key]]:
    """A number for each row, and the key of each number: there are as many of both as partitions."""
    number = pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows)
    keys: list[Key] = [()]
    for name in columns:
        indices, texts = _encoded(partition_texts(rows.column(name)))
        # Numbers stay below the count of rows, so a product of two of them stays far below 64 bits.
        number, codes = _encoded(pc.add(pc.multiply(number, len(texts)), indices))
        keys = [(*keys[code // len(texts)], texts[code % len(texts)]) for code in codes]
    return number, keys


def _encoded(column: "pa.Array | pa.ChunkedArray") -> tuple[pa.Array, list[Any]]:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # too long for a folder, or empty
        whole = pa.concat_arrays(whole.chunks)
    encoded = whole.dictionary_encode(null_encoding="encode")
    return encoded.indices.cast(pa.int64()), encoded.dictionary.to_pylist()
