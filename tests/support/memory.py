"""How much memory a piece of work takes at its peak, measured in a process of its own.

Arrow and DataFusion allocate natively, so only the operating system can tell: the peak of the resident set, above what the
process held once its imports and its preparations were done.
"""

from pathlib import Path

from support.processes.isolated import run_isolated

_PROLOGUE = """
import ctypes, gc, sys

def _status(name):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise SystemExit("this system doesn't tell " + name)

_base = None

def settled():
    # From here on the growth counts. Freed memory goes back first, and the peak starts anew at what is held.
    global _base
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    import pyarrow
    pyarrow.default_memory_pool().release_unused()
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    _base = _status("VmRSS")
"""

_EPILOGUE = """
print("peak growth:", _status("VmHWM") - _base)
"""


def rss_growth_of(program: str, *arguments: str) -> int:
    """Run a program that calls `settled()` when it is ready; the bytes by which its peak exceeds that moment."""
    printed = run_isolated(_PROLOGUE + program + _EPILOGUE, *arguments, timeout_s=300)
    return int(printed.rpartition("peak growth: ")[2])


def peak_bytes(pid: int) -> int:
    """The most that a process has held so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("this system doesn't tell how much memory a process took")
