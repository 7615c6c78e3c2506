"""Whether the read set of a serializable proposal is still valid: a pure check of the versions since. `evidence` reads
them.
"""

from collections.abc import Iterable, Sequence

from headgate_schemas.actions.actions import Action, AddFile, Metadata, RemoveFile
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.errors import PredicateError
from headgate_schemas.messages.operations import ReadSet
from headgate_schemas.predicates.partition_text import TextTest, ValuesTest, kind_of, text_test, values_test
from headgate_schemas.predicates.tree import Leaf

_AGAIN = "read the table again and propose anew"


def read_conflict(
    reads: ReadSet, versions: Iterable[tuple[int, Sequence[Action]]] | None, metadata: Metadata
) -> str | None:
    """The reason for a refusal: the first change of data, after `based_on`, that matches or may match the reads; None
    without one.

    `versions` are those after `based_on`, in order; None if one of them can't be read any more.
    """
    if versions is None:
        return (
            f"the versions after {reads.based_on} can't all be read any more, so nobody can tell what changed; {_AGAIN}"
        )
    try:
        may_match = _may_match(reads.reads, metadata)
    except PredicateError as error:
        return f"what was read can't be compared with later versions: {error}"
    for version, actions in versions:
        for action in actions:
            match action:
                case AddFile(data_change=True) if may_match(action.partition_values):
                    done = "added"
                case RemoveFile(data_change=True) if _is_vague(action, metadata) or may_match(
                    action.partition_values or {}
                ):
                    done = "removed"
                case _:
                    continue
            return f"version {version} {done} {action.path}, which may be among what was read at version {reads.based_on}; {_AGAIN}"
    return None


def _is_vague(action: RemoveFile, metadata: Metadata) -> bool:
    """Whether the action lacks the file's partition, as known writers may leave it out."""
    return not set(metadata.partition_columns) <= set(action.partition_values or {})


def _may_match(where: str | None, metadata: Metadata) -> ValuesTest:
    """Whether a file matches by its partition, or might match by its rows. Raises `PredicateError`."""
    if where is None:
        return lambda values: True
    from headgate_schemas.predicates.text import parse_predicate  # imports sqlglot, which only predicates need

    kinds = kinds_of(column_kinds(metadata.schema_string))

    def leaf_may_be_true(leaf: Leaf) -> TextTest:
        kind = kind_of(leaf.column, kinds)
        return text_test(leaf, kind) if leaf.column in metadata.partition_columns else lambda stored: True

    return values_test(parse_predicate(where), leaf_may_be_true)
