"""Drawn SQL over every type: a query of tables finds what DataFusion finds in the same rows, where nothing is skipped or pushed."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate
from support.oracle.by_query import as_read, compare, draw_query, quoted
from support.oracle.engines import arrow_columns
from support.oracle.values.columns import COMPARED, Column, Kind
from support.oracle.values.draws import draws
from support.oracle.values.pools import draw_cell

KINDS = sorted(COMPARED, key=lambda kind: kind.value)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_query_finds_what_datafusion_finds_in_the_rows(seed: int) -> None:
    random = draws(str(seed))
    kinds = random.sample(KINDS, 3)
    columns = [
        Column("id", Kind.LONG),
        *(Column(f"c{place}", kind, 9 if kind is Kind.DECIMAL else 0, 2) for place, kind in enumerate(kinds)),
    ]
    rows = [
        {column.name: draw_cell(random, column, early=False) for column in columns} | {"id": number}
        for number in range(random.choice((1, 6, 6)))
    ]
    for row in rows:
        # A text that is no folder's name or too long for one is drawn elsewhere.
        row |= {name: cell[:9] if isinstance(cell, str) else cell for name, cell in row.items()}
    partition = [column.name for column in columns[1:] if random.random() < 0.4]
    with TemporaryDirectory() as folder:
        place = str(Path(folder) / "t")
        for part in (rows[::2], rows[1::2]):
            arrays = arrow_columns(columns, {column.name: [row[column.name] for row in part] for column in columns})
            headgate.write(place, pa.table(arrays), partition_by=partition, storage={"local.durable": "false"})
        held = as_read(rows, partition)
        for _ in range(12):
            compare(draw_query(random, columns, held), quoted(place), columns, held)
