"""The values that processes exchange and store, their encodings, and the terms that all rooms share. No I/O.

Every other room imports this one, and it imports none of them. Bad input raises an error that names the field. An
accepted value is frozen and within its bounds.

Begin with `messages` (the bus), `actions` (the lines of a version file) and `predicates` (conditions). `ambient` owns
clock, ids, randomness and sleep; `metrics` is the catalogue of all metrics.
"""
