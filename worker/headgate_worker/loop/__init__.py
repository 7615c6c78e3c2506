"""The worker's loop: it reads commits, a schedule decides which work is due, and other threads run looks and tasks.

`serving` makes the loop and the process runs it. The schedule is pure: facts in, decisions out. The loop settles an
event only after whole sweeps have passed since it came, so that a successor reads it again and knows the busy tables.

Begin with `worker`, then `schedule` and `commit_feed`.
"""
