"""The tree: its bounds, its equality, its normal form."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.tree import (
    MAX_SIZE,
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    all_of,
    any_of,
    between,
    columns,
    leaves,
    negation_normal_form,
)
from support.pruning.oracle import truth
from support.pruning.strategies import any_predicates, columns_of_texts, trees
from support.pruning.strategies import leaves as random_leaves

A, B, C = IsNull("a"), IsNull("b"), IsNull("c")


def test_the_normal_form_pushes_not_to_the_conditions() -> None:
    predicate = Not(And((Comparison("a", Op.LT, 1), Or((In("b", (2,)), Not(StartsWith("c", "x")))))))
    expected = Or((Comparison("a", Op.GE, 1), And((NotIn("b", (2,)), StartsWith("c", "x")))))
    assert negation_normal_form(predicate) == expected


@pytest.mark.parametrize(
    ("predicate", "negated"),
    [
        (Comparison("a", Op.EQ, 1), Comparison("a", Op.NE, 1)),
        (Comparison("a", Op.LE, 1), Comparison("a", Op.GT, 1)),
        (NotIn("a", (1,)), In("a", (1,))),
        (NotStartsWith("a", "x"), StartsWith("a", "x")),
        (IsNull("a"), IsNotNull("a")),
        (IsNotNull("a"), IsNull("a")),
        (AlwaysTrue(), AlwaysFalse()),
        (AlwaysFalse(), AlwaysTrue()),
        (Not(A), A),
    ],
)
def test_not_of_a_condition_is_its_opposite(predicate: Predicate, negated: Predicate) -> None:
    assert negation_normal_form(Not(predicate)) == negated


def _has_not(predicate: Predicate) -> bool:
    match predicate:
        case Not():
            return True
        case And(operands) | Or(operands):
            return any(map(_has_not, operands))
        case _:
            return False


@given(any_predicates)
def test_no_not_is_left_in_a_normal_form(predicate: Predicate) -> None:
    assert not _has_not(negation_normal_form(predicate))


@settings(deadline=None)
@given(st.data())
def test_a_normal_form_is_true_for_the_same_rows(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([ColumnKind.STRING, ColumnKind.INTEGER]))
    texts = data.draw(columns_of_texts(kind, 5))
    predicate = data.draw(trees(random_leaves("p", kind, texts)))
    normal = negation_normal_form(predicate)
    for text in texts:
        assert truth(normal, {"p": text}, {"p": kind}) is truth(predicate, {"p": text}, {"p": kind})


def test_an_and_inside_of_an_and_is_taken_apart() -> None:
    assert And((And((A, B)), C)) == And((A, B, C))


def test_an_or_inside_of_an_and_stays() -> None:
    assert And((Or((A, B)), C)).operands == (Or((A, B)), C)


def test_literals_of_different_types_make_different_predicates() -> None:
    assert len({Comparison("a", Op.EQ, each) for each in (1, True, 1.0, Decimal(1))}) == 4


def test_lists_of_different_types_make_different_predicates() -> None:
    assert In("a", (1, 0)) != In("a", (True, False))


def test_all_of_nothing_is_true_and_any_of_nothing_is_false() -> None:
    assert (all_of(), any_of()) == (AlwaysTrue(), AlwaysFalse())


def test_between_includes_both_ends() -> None:
    assert between("a", 1, 2) == And((Comparison("a", Op.GE, 1), Comparison("a", Op.LE, 2)))


def test_the_columns_of_a_predicate_are_those_of_its_conditions() -> None:
    assert columns(Or((And((A, B)), Not(C)))) == {"a", "b", "c"}


def test_the_conditions_come_in_the_order_of_the_text() -> None:
    assert leaves(Or((And((B, A)), Not(C)))) == (B, A, C)


def test_a_tree_that_nests_too_deeply_is_refused() -> None:
    predicate: Predicate = A
    with pytest.raises(InvalidInput, match="nests deeper than 24"):  # noqa: PT012  # it is the loop that raises
        for _ in range(13):
            predicate = Not(predicate)


def test_a_tree_with_too_many_values_is_refused() -> None:
    half = In("a", tuple(range(MAX_SIZE // 2 + 1)))
    with pytest.raises(InvalidInput, match="split it"):
        Or((half, half))


@pytest.mark.parametrize(
    "literal",
    [float("nan"), float("inf"), Decimal("NaN"), 10**400, Decimal("1E+401"), "x" * 65_537, "\ud800", b"x", None],
)
def test_a_literal_that_nothing_can_be_compared_with_is_refused(literal: object) -> None:
    with pytest.raises(InvalidInput):
        Comparison("a", Op.EQ, literal)  # type: ignore[arg-type]  # some of them are of a wrong type on purpose


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(InvalidInput, match="AlwaysFalse"):
        In("a", ())


def test_an_empty_column_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="name"):
        IsNull("")


def test_an_and_of_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="two operands"):
        And((A,))
