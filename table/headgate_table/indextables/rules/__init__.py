"""The rules: the effect of an operation on a table, or the reason for its rejection. Direct commits and the committer
share them.

Both gather evidence about exactly the paths and predicates that an operation names, and pass it to `decide`, which is
pure. The same facts always give the same decision.

Begin with `decide`, then `evidence`. The other modules are rules that need facts of their own, such as `serializable`.
"""
