"""One partition of proposals while this process holds it: queues by table, work side by side, and the announcements.

`committer` makes one object per partition that the bus gives it. Proposals of a table are decided in order, those of
different tables side by side. The offset is committed together with the events of what was decided below it.

Begin with `held_partition`, then `table_queue` and `announcements`. The short modules are apart to keep them pure, or
to keep work that may fail beside the main path.
"""
