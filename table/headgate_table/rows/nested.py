"""Arrays of lists, structs and maps, rebuilt around other leaves. Nulls and lengths stay what they were.

Extensions, dictionaries and run ends around them are taken off: PyArrow's own casts refuse many of them, and empty list views.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types


def with_leaves(array: Any, wanted: pa.DataType, leaf: Callable[[Any, pa.DataType], Any]) -> Any:
    """The array as one of `wanted`, which has lists, structs and maps where it has. `leaf` converts what is inside."""
    if array.type == wanted:
        return array
    if isinstance(array.type, pa.BaseExtensionType):
        return with_leaves(array.storage, wanted, leaf)
    if types.is_dictionary(array.type):
        return with_leaves(array.dictionary, wanted, leaf).take(array.indices)
    if types.is_run_end_encoded(array.type):
        return with_leaves(array.values, wanted, leaf).take(_runs(array))
    if types.is_struct(wanted):
        parts = [with_leaves(array.field(place), field.type, leaf) for place, field in enumerate(wanted.fields)]
        return pa.StructArray.from_arrays(parts, fields=wanted.fields, mask=array.is_null())
    if types.is_map(wanted):
        offsets, entries = _dense(array)
        keys, items = (
            with_leaves(entries.field(0), wanted.key_type, leaf),
            with_leaves(entries.field(1), wanted.item_type, leaf),
        )
        return pa.MapArray.from_arrays(offsets, keys, items, type=wanted, mask=array.is_null())
    if types.is_list(wanted):
        offsets, values = _dense(array)
        return pa.ListArray.from_arrays(
            offsets, with_leaves(values, wanted.value_type, leaf), type=wanted, mask=array.is_null()
        )
    return leaf(array, wanted)


def _runs(array: Any) -> Any:
    """For each row the place of its value. Only of numbers, Arrow decodes run ends for certain."""
    places = pa.array(range(len(array.values)), pa.int32())
    runs = pa.RunEndEncodedArray.from_arrays(array.run_ends, places).slice(array.offset, len(array))
    return pc.run_end_decode(runs)


def _dense(array: Any) -> tuple[Any, Any]:
    """Where each list begins and ends among the values of all of them."""
    if types.is_map(array.type):
        entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
        begins = pc.add(array.offsets, pa.scalar(0, pa.int32()))  # a copy: with nulls, Arrow takes no slice
        array = pa.ListArray.from_arrays(begins, entries, mask=array.is_null())
    offsets = pc.fill_null(pc.list_value_length(array), 0)
    ends = pc.cumulative_sum(offsets.cast(pa.int64()))
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends]).cast(pa.int32())
    # Where all are null, `flatten` builds an empty array, which it can't do of extensions.
    return offsets, array.values.slice(0, 0) if array.null_count == len(array) else array.flatten()
