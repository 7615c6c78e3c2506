"""Workers: processes that follow commits and maintain tables by proposing changes like any other writer.

`serving` makes the worker of a process. No table's correctness depends on a worker: it can be killed at any point, and
its writes count only after a committer accepted them.

Begin with `loop/worker`, then `roles/interface` for the interface of a role. `merge` is the role that rewrites data
files.
"""
