"""Avro object container files: parsed defensively, decoded into Arrow in bulk, and encoded in bulk.

The formats of both kinds of tables call it. Lengths and counts are checked before they are believed, so that no file
makes a reader recurse, loop or allocate without bound. What the records mean is not known here.

Begin with `container`, then `decode` and `encode`. `records` reads single records.
"""
