"""Random runs on a Milvus table: committers, authors and strangers, some of whom commit what others propose.

More of them, side by side: `make simulate KIND=milvus SEEDS=n FIRST=seed`.
"""

import pytest

from support.simulation.milvus_run import simulate_milvus

SEEDS = 60


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_invariant_holds_for_manifests(seed: int) -> None:
    outcome = simulate_milvus(seed)
    assert outcome.receipts >= outcome.proposals > 0
