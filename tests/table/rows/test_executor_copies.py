"""Executors of Spark have nothing of Headgate but one package, so some rules are there as copies: letter by letter."""

import inspect
from types import ModuleType

import pytest

import pyspark_headgate.executor.partition_split
import pyspark_headgate.executor.row_columns
from headgate_table.rows import partition_split, row_columns


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (partition_split, pyspark_headgate.executor.partition_split),
        (row_columns, pyspark_headgate.executor.row_columns),
    ],
)
def test_executors_of_spark_decide_alike_what_is_storable(ours: ModuleType, theirs: ModuleType) -> None:
    """Break: a value that one writer refuses is rounded, cut or lost by the other."""
    assert _code(ours) == _code(theirs)


def _code(module: ModuleType) -> str:
    """Without the docstring, which says where the other one is."""
    return inspect.getsource(module).split('"""', 2)[2]
