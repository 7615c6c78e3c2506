"""A table as REPAIR INDEXFILES TRANSACTION LOG leaves it: two uncompressed version files, no checkpoint.

The second one holds the adds, statistics shortened, without a final newline. Facts in docs/format.md, sections 3 and 9.
"""

from pathlib import Path

from support.writers import scala_actions
from support.writers.cases.expected import Expected, sorted_paths, total
from support.writers.invented import Invented
from support.writers.log_folder import LogFolder, lines, version_name

STATISTICS_CHARS = 32


def repaired_table(table: Path, *, files: int = 3, partition_columns: tuple[str, ...] = ()) -> Expected:
    invented = Invented("repair")
    log = LogFolder(table)
    table_id = invented.uuid()
    head = [scala_actions.protocol(), scala_actions.metadata(table_id, invented.tick(), partition_columns)]
    log.put(version_name(0), lines(head))
    found = []
    for number in range(files):
        file = invented.file({column: f"{column}-{number}" for column in partition_columns})
        for bound in ("minValues", "maxValues"):
            file[bound] = {column: value[:STATISTICS_CHARS] for column, value in file[bound].items()}
        found.append(file)
    log.put(version_name(1), lines(scala_actions.add(file) for file in found).removesuffix(b"\n"))
    return Expected(
        version=1,
        paths=sorted_paths(found),
        total_bytes=total(found),
        partition_columns=partition_columns,
        table_id=table_id,
        per_version={0: (), 1: sorted_paths(found)},
    )
