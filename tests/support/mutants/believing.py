"""Mutants of what is believed of the world outside: disks, stores, clocks, addresses, and files that other writers left."""

from support.mutants.mutant import NONE, Mutant, Rule

_LOCAL = "table/headgate_table/store/local.py"
_DISK_TESTS = "tests/table/store/test_failing_disk.py"

MUTANTS = (
    Mutant(
        "refused-name-read-from-the-cache",
        Rule.FOLDING,
        "A version whose name the disk refused to keep is read back from the page cache, and acknowledged.",
        _LOCAL,
        "        if PROCESS_DOUBTS.is_empty or (path",
        "        if not PROCESS_DOUBTS.is_empty or (path",
        (_DISK_TESTS,),
        NONE,
    ),
    Mutant(
        "second-sync-believed",
        Rule.FOLDING,
        "After a failed sync the folder is synced again, which succeeds and writes nothing.",
        _LOCAL,
        "            if write_anew(path, self._ambient):\n                self._make_durable(path)\n",
        "            self._make_durable(path)\n",
        (f"{_DISK_TESTS}::test_whatever_is_acknowledged_is_on_the_disk",),
        NONE,
    ),
    Mutant(
        "bus-log-synced-again",
        Rule.FOLDING,
        "A bus whose log the disk refused goes on behind it, where nobody reads after a power cut.",
        "bus/headgate_bus/sqlite_file.py",
        "                self._is_doubtful = True\n",
        "                self._is_doubtful = False\n",
        ("tests/bus/test_sqlite_bus.py",),
        NONE,
    ),
)
