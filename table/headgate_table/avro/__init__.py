"""Avro object container files: parsed defensively, decoded into Arrow in bulk, and encoded in bulk.

The formats of both kinds of tables call it. Lengths and counts are checked before they are used, so that no file makes
a reader recurse, loop or allocate without bound. The callers know the meaning of the records.

Begin with `container`, then `decode` and `encode`. `records` reads single records.
"""
