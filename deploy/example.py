"""A program that proposes, as one in a container beside the committer does: `python deploy/example.py TABLE`.

It makes the table unless it is there, writes a small Parquet file into its folder, and proposes to append it. The bus and
the store are those of HEADGATE_BUS and HEADGATE_STORE_….
"""

import io
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.settings.loading import load_settings
from headgate_producer.producer import Producer
from headgate_schemas.messages.operations import Committed, Duplicate, RejectCode, Rejected
from headgate_table.data_file import DataFile

WAIT_S = 60


def main(table: str) -> None:
    settings = load_settings({}, {}, None)
    if settings.bus is None:
        sys.exit("HEADGATE_BUS names no bus")
    with Producer(settings.bus, table, storage=settings.store) as producer:
        match producer.create("id bigint, day string", partition_by=["day"]).wait(WAIT_S):
            case Rejected(code=RejectCode.ALREADY_EXISTS):
                print(f"{table} is there already")
            case Rejected(reason=reason):
                sys.exit(f"{table} could not be made: {reason}")
            case _:
                print(f"made {table}")

        # Every file has a name of its own: a path in a table never means two files.
        day = datetime.fromtimestamp(producer.ambient.now_ms() / 1000, UTC).date()
        path = f"day={day}/{producer.ambient.new_id()}.parquet"
        rows = io.BytesIO()
        pq.write_table(pa.table({"id": range(1000)}), rows)
        producer.store.put(path, rows.getvalue())

        match producer.append([DataFile.of_parquet(path, store=producer.store)]).wait(WAIT_S):
            case Committed(version=version) | Duplicate(version=version):
                print(f"committed {path} as version {version}")
            case Rejected(reason=reason):
                sys.exit(f"{path} was rejected: {reason}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python deploy/example.py TABLE")
    main(sys.argv[1])
