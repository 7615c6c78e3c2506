"""Data merge: small files of a partition become larger ones with the same rows."""
