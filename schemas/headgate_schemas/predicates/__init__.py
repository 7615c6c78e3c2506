"""Predicates: the conditions of `where` and of conflict checks, as a tree, as SQL text, and as a test of partition
texts.

The table room evaluates them, and Spark's filters are converted to them. They follow SQL's three-valued logic. Texts
from people or messages are checked against bounds before any parser sees them.

Begin with `tree`, then `text`.
"""
