"""The roles of a worker: compaction, cleaning, mirrors, and the parts that all roles share.

The loop lets a role look at a table, which plans tasks, and later run each task. A look only reads. A task may be given
up or repeated at any point.

Begin with `interface`, then `compact`. `undecided` finds the files and versions that undecided proposals on the bus
still need, so that cleaning keeps them. The role `merge` has a folder of its own.
"""
