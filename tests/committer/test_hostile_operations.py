"""Whatever may be proposed is answered, and delays nothing: no operation that a message can hold stops a table or its partition."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.events import ReceiptEvent
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    Committed,
    CompactState,
    Create,
    Delete,
    NewManifest,
    Operation,
    Overwrite,
    Purge,
    RejectCode,
    Rejected,
    Restore,
)
from headgate_table.indextables.format.names import manifest_path, version_key
from headgate_table.indextables.format.version_file import encode_actions
from support.committing.claimed import claimed
from support.committing.rig import TABLE, Rig, isolation
from support.drawn.operation_strategies import Values, operations
from support.tables import COLUMNS, add_file

SCHEMA = schema_string_of(COLUMNS)
LONG = "x" * (16 << 20)
"""Four of them take more than a line may."""


def partitioned() -> Rig:
    """A table of two days with a state, in whose newest version files of both are live."""
    rig = Rig(create=False, interval=1)
    rig.propose(Create(SCHEMA, ("date", "month")))
    for day in (1, 2):
        rig.propose(Append((in_partition(f"old-{day}", day),)))
    return rig


def in_partition(name: str, day: int = 1) -> AddFile:
    return add_file(name, date=f"2024-01-0{day}", month=3)


def manifest(path: str) -> NewManifest:
    return NewManifest(path, num_entries=1, min_added_at_version=0, max_added_at_version=1, total_bytes=1)


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (Delete(where="date = = 3"), RejectCode.INVALID),
        (Delete(where="month = 'May'"), RejectCode.INVALID),
        (Overwrite((), where="month LIKE '20%'"), RejectCode.INVALID),
        (Overwrite((in_partition("a"),), where="month = 'May'"), RejectCode.INVALID),
        (Delete(where="nosuch = 1"), RejectCode.NOT_A_PARTITION),
        (Overwrite((), where="id = 'x'"), RejectCode.NOT_A_PARTITION),
        (Alter(based_on=9, schema_string="not json"), RejectCode.INVALID),
        (Alter(based_on=9, configuration={"checkpoint.interval": "soon"}), RejectCode.INVALID),
        (CompactState(base=2, removes=(), adds=(manifest("/etc/x"),)), RejectCode.INVALID),
        (CompactState(base=2, removes=(), adds=(manifest("../../x"),)), RejectCode.INVALID),
        (
            CompactState(base=2, removes=(), adds=(manifest("s3://elsewhere/manifests/manifest-0a.avro"),)),
            RejectCode.INVALID,
        ),
        (CompactState(base=2, removes=(), adds=(manifest("date=1/a.parquet"),)), RejectCode.INVALID),
        (CompactState(base=2, removes=(), adds=(manifest(manifest_path("0a")),)), RejectCode.BASE_GONE),
        (Restore(2**63 - 1), RejectCode.GONE),
    ],
    ids=repr,
)
def test_what_can_not_be_done_is_refused_and_what_follows_it_commits(operation: Operation, code: RejectCode) -> None:
    rig = partitioned()
    committer = rig.committer()
    rig.settle(committer)
    before = rig.propose(Append((in_partition("before"),)))
    bad = rig.propose(operation)
    after = rig.propose(Append((in_partition("after"),)))
    rig.settle(committer)
    receipts = rig.receipts()
    refused = receipts[bad]
    assert isinstance(refused, Rejected), refused
    assert refused.code is code
    assert isinstance(receipts[before], Committed)
    assert isinstance(receipts[after], Committed)


@pytest.mark.parametrize("reads", ["month = 'May'", "nosuch = 1", "month LIKE '2%'", "= ="])
def test_what_was_read_by_a_predicate_that_is_none_is_a_conflict(reads: str) -> None:
    """Break: a literal is looked at only when a later change is compared with it, where nothing catches what it raises."""
    rig = partitioned()
    committer = rig.committer()
    rig.settle(committer)
    bad = rig.propose(Append((in_partition("a"),)), **isolation(based_on=0, reads=reads))
    after = rig.propose(Append((in_partition("after"),)))
    rig.settle(committer)
    receipts = rig.receipts()
    refused = receipts[bad]
    assert isinstance(refused, Rejected), refused
    assert refused.code is RejectCode.READ_CONFLICT
    assert isinstance(receipts[after], Committed)


@pytest.mark.parametrize(
    "operation",
    [
        Append((add_file("heavy", tags={str(number): LONG for number in range(4)}),)),
        Append((add_file("mapped", doc_mapping_json=LONG + LONG),)),
        Purge(tuple(f"{number}-{'x' * 4_000}" for number in range(17_000))),
        Alter(based_on=0, configuration={str(number): LONG for number in range(4)}),
    ],
    ids=["an add", "a mapping", "a purge", "an alter"],
)
def test_what_no_line_of_a_version_can_hold_is_refused_alone(operation: Operation) -> None:
    """Break: a group in which something can't be written is tried again as it is."""
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    before = [rig.append(f"before-{number}") for number in range(3)]
    bad = rig.send(claimed(rig, rig.proposal(operation)))
    after = [rig.append(f"after-{number}") for number in range(3)]
    rig.settle(committer)
    receipts = rig.receipts()
    refused = receipts[bad]
    assert isinstance(refused, Rejected), refused
    assert refused.code is RejectCode.INVALID
    assert {type(receipts[fine]) for fine in (*before, *after)} == {Committed}
    assert rig.table().version <= 5, "those that fit share versions"


def test_a_table_whose_first_line_can_not_be_written_is_not_created() -> None:
    rig = Rig(create=False)
    create = Create(schema_string_of(COLUMNS), configuration={str(number): LONG for number in range(4)})
    bad = rig.send(claimed(rig, rig.proposal(create)))
    fine = rig.propose(Create(schema_string_of(COLUMNS)))
    rig.settle(rig.committer())
    receipts = rig.receipts()
    refused = receipts[bad]
    assert isinstance(refused, Rejected), refused
    assert isinstance(receipts[fine], Committed)


def test_files_of_other_writers_outside_of_the_table_are_believed_when_their_version_is_restored() -> None:
    """Break: a whole address is asked for as if it were a key."""
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.stores[TABLE].create(version_key(1), encode_actions([add_file("s3://elsewhere/a")]))
    gone = rig.propose(Delete(("s3://elsewhere/a.parquet",)))
    back = rig.propose(Restore(1))
    rig.settle(committer)
    receipts = rig.receipts()
    assert isinstance(receipts[gone], Committed), receipts[gone]
    assert isinstance(receipts[back], Committed), receipts[back]
    assert rig.table().snapshot().paths() == ["s3://elsewhere/a.parquet"]


@settings(max_examples=150)
@given(
    st.lists(
        st.one_of(
            *operations(
                Values(
                    paths=st.sampled_from(
                        [
                            "date=2024-01-01/month=3/old-1.parquet",
                            "date=2024-01-01/month=3/new.parquet",
                            manifest_path("0a"),
                            "/x",
                            "../x",
                            "s3://elsewhere/x",
                            "%2e%2e/x",
                            "_transaction_log/x",
                        ]
                    )
                    | st.text(min_size=1, max_size=20),
                    wheres=st.sampled_from(
                        ["month = 3", "month = 'May'", "date LIKE '2%'", "id = 1", "nosuch = 1", "month ="]
                    ),
                    schemas=st.sampled_from([SCHEMA, "", "not json", "{}"]),
                    columns=st.sampled_from(["date", "month", "nosuch"]),
                    counts=st.integers(0, 4) | st.just(2**63 - 1),
                )
            ).values()
        ),
        min_size=1,
        max_size=4,
    )
)
def test_every_operation_is_answered(proposed: list[Operation]) -> None:
    rig = partitioned()
    ids = [rig.propose(operation) for operation in proposed]
    last = rig.propose(Append((in_partition("last"),)))
    rig.settle(rig.committer(), steps=40)
    told = {event.proposal: event.to_receipt() for event in rig.events() if isinstance(event, ReceiptEvent)}
    assert told.keys() >= {*ids, last}
    assert isinstance(told[last], Committed | Rejected)
