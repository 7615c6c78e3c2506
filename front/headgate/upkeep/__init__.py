"""Merges and cleans in the process that has just written or was asked to, without a worker.

Statements and direct commits call it. A failure here never affects the commit before it.

Begin with `on_write`.
"""
