"""Mutants of the commit protocol: decisions, memory, sources, receipts, and how processes share a bus."""
