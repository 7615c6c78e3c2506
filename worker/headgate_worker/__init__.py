"""Workers: processes that follow commits and keep tables small and quick to read, by proposing like any other writer.

A process makes one by `serving`. Nothing depends on a worker for being right: it can be killed anywhere, and what it
wrote counts only after the committer accepted it.

Begin with `loop/worker`, then `roles/interface` for what a role is. `merge` is the role that rewrites data files.
"""
