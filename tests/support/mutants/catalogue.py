"""All mutants, by what they break."""

from support.mutants import commits, decisions, fitting, maintaining, manifests, producing, remembering, rows, values
from support.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *commits.MUTANTS,
    *remembering.MUTANTS,
    *decisions.MUTANTS,
    *maintaining.MUTANTS,
    *producing.MUTANTS,
    *manifests.MUTANTS,
    *values.MUTANTS,
    *fitting.MUTANTS,
    *rows.MUTANTS,
)
