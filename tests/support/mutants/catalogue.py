"""All mutants, by what they break."""

from support.mutants import (
    agreeing,
    believing,
    commits,
    crowding,
    damaging,
    decisions,
    feeding,
    fitting,
    maintaining,
    manifests,
    producing,
    remembered_ids,
    remembering,
    rows,
    serving,
    strangers,
    taking,
    values,
)
from support.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *agreeing.MUTANTS,
    *commits.MUTANTS,
    *remembering.MUTANTS,
    *decisions.MUTANTS,
    *maintaining.MUTANTS,
    *producing.MUTANTS,
    *manifests.MUTANTS,
    *believing.MUTANTS,
    *crowding.MUTANTS,
    *damaging.MUTANTS,
    *feeding.MUTANTS,
    *fitting.MUTANTS,
    *remembered_ids.MUTANTS,
    *rows.MUTANTS,
    *serving.MUTANTS,
    *strangers.MUTANTS,
    *taking.MUTANTS,
    *values.MUTANTS,
)
