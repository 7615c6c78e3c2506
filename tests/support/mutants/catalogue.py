"""All mutants, by what they break."""

from support.mutants import commits, damaging, decisions, maintaining, manifests, producing, remembering
from support.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *commits.MUTANTS,
    *damaging.MUTANTS,
    *remembering.MUTANTS,
    *decisions.MUTANTS,
    *maintaining.MUTANTS,
    *producing.MUTANTS,
    *manifests.MUTANTS,
)
