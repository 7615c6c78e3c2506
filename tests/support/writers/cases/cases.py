"""Every case, in one list."""

from support.writers.cases import actions as cases_actions
from support.writers.cases import avro as cases_avro
from support.writers.cases import bytes as cases_bytes
from support.writers.cases import metadata as cases_metadata
from support.writers.cases import shapes as cases_shapes
from support.writers.cases import writers as cases_writers
from support.writers.cases.case import Case

CASES: list[Case] = [
    case
    for module in (cases_writers, cases_bytes, cases_actions, cases_shapes, cases_metadata, cases_avro)
    for case in module.CASES.all
]

if len({case.name for case in CASES}) != len(CASES):
    raise ValueError("two cases have the same name")
