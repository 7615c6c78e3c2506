"""All mutants, by what they break."""

from support.mutants import (
    commits,
    crowding,
    decisions,
    maintaining,
    manifests,
    producing,
    remembering,
    serving,
    taking,
)
from support.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *commits.MUTANTS,
    *remembering.MUTANTS,
    *decisions.MUTANTS,
    *maintaining.MUTANTS,
    *producing.MUTANTS,
    *manifests.MUTANTS,
    *taking.MUTANTS,
    *serving.MUTANTS,
    *crowding.MUTANTS,
)
