"""What travels between processes and what is stored: values, their encodings, and the words that all rooms share. No
I/O.

Every other room imports this one, and it imports none of them. Bad input raises an error that names the field. A
value that was accepted is frozen and within its bounds.

Begin with `messages` (what is sent), `actions` (what a version file holds) and `predicates` (conditions).
`ambient` owns clock, ids, randomness and sleep; `metrics` is the catalogue of all metrics.
"""
