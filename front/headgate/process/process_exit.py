"""The end of a process of the `headgate` command: tasks that hang are left behind, not waited for."""

import contextlib
import os
import sys

from headgate_worker.task_threads import still_at_work

LEAVE_WITHIN_S = 2.0
"""Threads that have nothing to do any more end well within it. A worker that stops has waited for its tasks before."""


def leave(code: int) -> int:
    """The code to end with; where a task hangs, the process ends right here with it.

    Python would wait for the task's thread for ever. Nothing counts of what it has not proposed.
    """
    if not still_at_work(LEAVE_WITHIN_S):
        return code
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # Whoever read it may be gone.
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)
