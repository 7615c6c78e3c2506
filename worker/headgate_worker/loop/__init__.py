"""The worker's loop: commits come in, a schedule decides what is due, and looks and tasks run on other threads.

`serving` makes the loop and the process runs it. The schedule is pure: facts in, decisions out. An event is settled
only after whole sweeps have passed since it came, so that a successor reads it again and knows the busy tables.

Begin with `worker`, then `schedule` and `commit_feed`.
"""
