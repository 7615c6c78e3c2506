"""Every case, in one list."""

from support.writers import cases_actions, cases_avro, cases_bytes, cases_metadata, cases_shapes, cases_writers
from support.writers.case import Case

CASES: list[Case] = [
    case
    for module in (cases_writers, cases_bytes, cases_actions, cases_shapes, cases_metadata, cases_avro)
    for case in module.CASES.all
]

if len({case.name for case in CASES}) != len(CASES):
    raise ValueError("two cases have the same name")
