"""The rules: what an operation does to a table, or why it is rejected. Shared by direct commits and the committer.

Both gather evidence about exactly the paths and predicates that an operation names, and hand it to `decide`, which is
pure. The same facts always give the same decision.

Begin with `decide`, then `evidence`. The other modules are rules that need facts of their own, such as
`serializable`.
"""
