"""The blows of a run: which come is settled by the seed and never by chance alone."""

from collections import Counter
from itertools import islice

from support.torture.faults import Fault, blows

WEIGHTS = {Fault.COMMITTER: 3, Fault.STORE: 2, Fault.RIVAL: 1}


def kinds(count: int, seed: int = 1) -> list[Fault]:
    return [blow.fault for blow in islice(blows(seed, WEIGHTS, (0, 1)), count)]


def test_the_first_blows_are_one_of_each_kind() -> None:
    assert all(set(kinds(3, seed)) == set(WEIGHTS) for seed in range(20))


def test_then_each_kind_comes_as_often_as_it_weighs() -> None:
    """Break: `blows` draws each kind for itself."""
    assert all(Counter(kinds(9, seed)[3:]) == Counter(WEIGHTS) for seed in range(20))


def test_a_seed_tells_the_blows() -> None:
    assert list(islice(blows(7, WEIGHTS, (0, 1)), 50)) == list(islice(blows(7, WEIGHTS, (0, 1)), 50))


def test_the_order_is_another_with_another_seed() -> None:
    assert len({tuple(kinds(9, seed)) for seed in range(20)}) > 1
