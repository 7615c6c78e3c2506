"""Random runs of the whole protocol: committers, workers, producers, streaming sinks, a bank, direct and foreign writers,
cleaners, and all that goes wrong.

More of them, side by side: `make simulate SEEDS=n FIRST=seed`.
"""

import pytest

from support.simulation.run import simulate

SEEDS = 150


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_invariant_holds(seed: int) -> None:
    """What each proposal is told, the run itself judges; some are lost with their log, and are told nothing."""
    outcome = simulate(seed)
    assert outcome.receipts > 0
    assert outcome.proposals > 0
