"""The end of a process of the `headgate` command: hanging tasks are abandoned."""

import contextlib
import os
import sys

from headgate_worker.task_threads import still_at_work

LEAVE_WITHIN_S = 2.0
"""Threads that have nothing to do any more end well within it. A worker that stops has waited for its tasks before."""


def leave(code: int) -> int:
    """The exit code; if a task hangs, the process ends right here with it.

    Python would wait for the task's thread for ever. Work that it has not proposed has no effect.
    """
    if not still_at_work(LEAVE_WITHIN_S):
        return code
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # The reader may be gone.
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)
