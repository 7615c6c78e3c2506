"""Merging and cleaning by the process that has just written or was asked to, without a worker.

Statements and direct commits call it. A commit stands whatever comes of the upkeep after it.

Begin with `on_write`.
"""
