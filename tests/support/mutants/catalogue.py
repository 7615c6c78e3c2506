"""All mutants, by what they break."""

from support.mutants import (
    commits,
    decisions,
    maintaining,
    manifests,
    producing,
    remembered_ids,
    remembering,
)
from support.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *commits.MUTANTS,
    *remembering.MUTANTS,
    *remembered_ids.MUTANTS,
    *decisions.MUTANTS,
    *maintaining.MUTANTS,
    *producing.MUTANTS,
    *manifests.MUTANTS,
)
