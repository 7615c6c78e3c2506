"""The threads of looks and tasks, and which of them are still running."""

import threading
from concurrent.futures import ThreadPoolExecutor

_NAME = "headgate-task"


def task_executor(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix=_NAME)


def still_at_work(timeout_s: float) -> list[threading.Thread]:
    """The threads of executors, shut down or not, that are still running after `timeout_s` each."""
    found = [thread for thread in threading.enumerate() if thread.name.startswith(_NAME)]
    for thread in found:
        thread.join(timeout_s)
    return [thread for thread in found if thread.is_alive()]
