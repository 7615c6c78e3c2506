"""Predicates: the conditions of `where` and of conflict checks, as a tree, as SQL text, and as a test of partition
texts.

The table room evaluates them, and Spark's filters are turned into them. Meaning is SQL's three-valued logic. Text
that a person or a message brings is bounded before any parser sees it.

Begin with `tree`, then `text`.
"""
