"""Random histories of real tables, held against a model of their rows. `make oracle` plays more."""

import pytest

from support.oracle.history import play

SEEDS = 30


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_table_holds_the_rows_of_its_history(seed: int) -> None:
    played = play(seed)
    assert not played.kind, f"{played.failure}\nreplay: {played.replay}"
