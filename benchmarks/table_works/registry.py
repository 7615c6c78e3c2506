"""Every work of `table.py`, by the name that its command line knows."""

from table_works.append import APPEND, APPEND_COLD
from table_works.changes import CHANGES
from table_works.clean import CLEAN, CLEAN_DRY
from table_works.compact import COMPACT
from table_works.decide import DECIDE
from table_works.load import LOAD
from table_works.manifests import MANIFESTS_WORK
from table_works.partition import PARTITION_WORK
from table_works.s3 import S3
from table_works.travel import TRAVEL
from table_works.work import Work

WORKS: dict[str, Work] = {
    "load": LOAD,
    "manifests": MANIFESTS_WORK,
    "partition": PARTITION_WORK,
    "append": APPEND,
    "append-cold": APPEND_COLD,
    "decide": DECIDE,
    "compact": COMPACT,
    "changes": CHANGES,
    "travel": TRAVEL,
    "s3": S3,
    "clean-dry": CLEAN_DRY,
    "clean": CLEAN,
}
