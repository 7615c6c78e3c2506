"""Freezing a process: it keeps all that it has, and does nothing until it is thawed."""

import os
import signal
import subprocess


def freeze(process: "subprocess.Popen[bytes]") -> None:
    """Until it stands still, or has ended: on a busy machine its threads go on after the signal until each has seen it."""
    process.send_signal(signal.SIGSTOP)
    if process.returncode is None:
        # Leaves the news where it is, for whoever waits for the process.
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def thaw(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGCONT)
