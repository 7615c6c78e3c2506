"""Roles of a worker: compaction, cleaning, mirrors, and what all roles have in common.

The loop calls a role to look at a table, which plans tasks, and later to run each of them. A look reads only. A task
may be given up or repeated at any point.

Begin with `interface`, then `compact`. `undecided` finds what cleaning must leave for proposals that are still on the
bus. The role `merge` has a folder of its own.
"""
