"""All mutants, by what they break."""

from support.mutants.mutant import Mutant
from support.mutants.protocol import (
    commits,
    crowding,
    decisions,
    feeding,
    manifests,
    producing,
    remembered_ids,
    remembering,
    serving,
    taking,
)
from support.mutants.tables import (
    agreeing,
    believing,
    damaging,
    fitting,
    loading,
    maintaining,
    mirroring,
    rows,
    strangers,
    values,
)

MUTANTS: tuple[Mutant, ...] = (
    *agreeing.MUTANTS,
    *commits.MUTANTS,
    *remembering.MUTANTS,
    *decisions.MUTANTS,
    *maintaining.MUTANTS,
    *mirroring.MUTANTS,
    *producing.MUTANTS,
    *manifests.MUTANTS,
    *believing.MUTANTS,
    *crowding.MUTANTS,
    *damaging.MUTANTS,
    *feeding.MUTANTS,
    *fitting.MUTANTS,
    *loading.MUTANTS,
    *remembered_ids.MUTANTS,
    *rows.MUTANTS,
    *serving.MUTANTS,
    *strangers.MUTANTS,
    *taking.MUTANTS,
    *values.MUTANTS,
)
