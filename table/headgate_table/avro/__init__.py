"""Avro object container files: parsed defensively, decoded and encoded in bulk as Arrow. What the records mean is not known here."""
