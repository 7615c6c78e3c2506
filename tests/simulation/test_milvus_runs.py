"""Random runs on a Milvus table: committers, authors and strangers, some of whom commit what others propose.

More of them, side by side: `make simulate KIND=milvus SEEDS=n FIRST=seed`.
"""

import pytest

from support.simulation.milvus_run import simulate_milvus

SEEDS = 60


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_invariant_holds_for_manifests(seed: int) -> None:
    """What each proposal is told, the run itself judges; some are lost with their log, and are told nothing."""
    outcome = simulate_milvus(seed)
    assert outcome.receipts > 0
    assert outcome.proposals > 0
