"""Binding a table to another bus, after its own was replaced, trimmed or restored. Always an operator's decision.

`headgate table rebind` calls it. A rebind is a version of its own that raises the epoch, so that a committer of the
old bus is fenced at its next commit.

Begin with `rebind`, then `offer`, which decides from where the table would be fed.
"""
