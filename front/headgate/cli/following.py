"""`headgate events`: prints the announcements of committers, past or as they come."""

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from headgate.cli.terminal.given import wrong
from headgate.cli.terminal.session import ON_A_BUS, Session, command

if TYPE_CHECKING:
    from headgate_bus.interface import Record

COLUMNS = (
    "partition",
    "offset",
    "time",
    "event",
    "table",
    "version",
    "proposal",
    "outcome",
    "code",
    "reason",
    "operation",
    "added",
    "removed",
    "added_bytes",
    "removed_bytes",
    "committer",
    "epoch",
    "proposals",
)
SHOWN = ("offset", "time", "event", "version", "outcome", "operation", "added", "removed", "proposal", "code", "table")
SPARE = ("proposal", "code", "time", "removed")


def register(app: typer.Typer) -> None:
    command(app, "events", events, also=ON_A_BUS)


def events(
    session: Session,
    uri: Annotated[str | None, typer.Argument(metavar="[URI]", help="Only events of this table.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Print new events too, until Ctrl-C.")] = False,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="first|next|OFFSET",
            help="Where to start: first, next or an offset. Default: first, and next with --follow.",
        ),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", metavar="N", help="Only events of this partition.", min=0)
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Stop after N events.", min=1)] = None,
) -> None:
    """Print the receipts and commits that committers announced.

    With --follow, the format json prints one object a line.
    """
    from headgate.topic_reading import read_topic, starting_offsets
    from headgate_bus.interface import Topic
    from headgate_table.store.addresses import table_address

    begin = start or ("next" if follow else "first")
    if begin not in ("first", "next") and not (begin.isascii() and begin.isdigit() and len(begin) < 19):
        raise wrong(f"{begin!r} is neither first, next nor an offset", "--from")
    key = None if uri is None else table_address(uri)
    with session.bus_in_force() as bus:
        if key is not None and partition is None:
            partition = bus.partition_of(key, Topic.EVENTS)
        offsets = starting_offsets(bus, Topic.EVENTS, begin, partition)
        records = read_topic(bus, Topic.EVENTS, offsets, follow=follow)
        rows = (_row(record) for record in records if key is None or record.key == key)
        kept = islice(rows, limit)  # exactly that many: the next one may never come
        if follow:
            session.output.follow(kept, COLUMNS, shown=SHOWN)
        else:
            session.output.rows(kept, COLUMNS, shown=SHOWN, spare=SPARE, nothing="No events.")


def _row(record: "Record") -> dict[str, Any]:
    from headgate_schemas.messages.cloud_events import kind_of
    from headgate_schemas.messages.events import CommitEvent, ReceiptEvent, decode_event
    from headgate_schemas.messages.message_shape import UnreadableMessage

    place: dict[str, Any] = {"partition": record.partition, "offset": record.offset, "table": record.key}
    try:
        event = decode_event(record.body)
    except UnreadableMessage as error:
        # Perhaps of a newer release; the output shows at least that something is there.
        return place | {"time": record.time_ms, "event": kind_of(record.headers) or "unreadable", "reason": str(error)}
    match event:
        case ReceiptEvent():
            return place | {"event": "receipt"} | event.model_dump(include=_RECEIPT)
        case CommitEvent():
            return place | {"event": "commit"} | event.model_dump(include=_COMMIT)
        case _:
            assert_never(event)


_RECEIPT = {"time", "proposal", "outcome", "version", "code", "reason"}
_COMMIT = {
    "time",
    "version",
    "operation",
    "added",
    "removed",
    "added_bytes",
    "removed_bytes",
    "committer",
    "epoch",
    "proposals",
}
