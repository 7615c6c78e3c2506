"""Mutants of what is kept free for a committer, and of what is swept while others still need it."""

from support.mutants.mutant import NONE, Mutant, Rule, models

_ROOM = "bus/headgate_bus/sqlite/room.py"
_BUS = "bus/headgate_bus/sqlite/bus.py"
_SWEEPING = "tests/committer/table/test_claims_that_wait.py"
_ROOM_TESTS = "tests/bus/sqlite/test_sqlite_room.py"

MUTANTS = (
    Mutant(
        "proposals-take-all-room",
        Rule.OUTAGES,
        "Proposals may fill a bus file to the last page, so that nothing can be settled or announced.",
        _ROOM,
        "    if file.used + adding > max_file_bytes:\n",
        "    if file.used + adding > max_file_bytes * 9:\n",
        (_ROOM_TESTS,),
        NONE,
    ),
    Mutant(
        "no-headroom-for-seats",
        Rule.OUTAGES,
        "The file of a bus ends at its bound for committers as well.",
        _ROOM,
        "    return max(max_file_bytes // page_bytes, pages) + headroom // page_bytes\n",
        "    return max(max_file_bytes // page_bytes, pages)\n",
        (_ROOM_TESTS,),
        NONE,
    ),
    Mutant(
        "full-bus-keeps-what-is-settled",
        Rule.OUTAGES,
        "A full bus goes on keeping settled proposals, and takes nothing more.",
        _BUS,
        "            self._trim(partition, lambda settled: settled - 1)\n",
        "            self._trim(partition, lambda settled: 0)\n",
        (_ROOM_TESTS,),
        NONE,
    ),
    Mutant(
        "full-bus-drops-what-waits",
        Rule.SOURCES,
        "A full bus makes room by letting go of proposals that a group has not settled.",
        _BUS,
        "log.first = max(log.first, before(settled_by_all(transaction.connection, partition)))",
        "log.first = max(log.first, before(max(log.next_offset, settled_by_all(transaction.connection, partition))))",
        (_ROOM_TESTS,),
        NONE,
    ),
    Mutant(
        "disk-filled-to-the-end",
        Rule.OUTAGES,
        "Proposals take the disk's last bytes, which the committer needs.",
        _ROOM,
        "    if disk.free - growth < kept:\n",
        "    if disk.free - growth < 0:\n",
        (_ROOM_TESTS,),
        NONE,
    ),
    Mutant(
        "claims-of-who-waits-swept",
        Rule.CLAIMS,
        "A claim is swept for its age alone, though its proposal waits on the bus.",
        "bus/headgate_bus/claims.py",
        "still_needed=lambda key: key in needed",
        "still_needed=lambda key: False",
        (_SWEEPING,),
        models(_SWEEPING, 600),
    ),
    Mutant(
        "claims-aged-by-the-bus",
        Rule.CLAIMS,
        "How old a claim is, the clock of whoever wrote to the bus says.",
        "bus/headgate_bus/claims.py",
        "planned(min(now_ms, store_now_ms(store)), still_needed())",
        "planned(now_ms, still_needed())",
        (_SWEEPING,),
        NONE,
    ),
    Mutant(
        "manifests-aged-by-a-machine",
        Rule.CLEANING,
        "A machine whose clock is a month ahead truncates, and takes the manifests of a state that is being made for old ones.",
        "table/headgate_table/indextables/cleaning/truncate.py",
        "now_ms = time_for_ages_ms(self._reader.store, self._ambient, self._protected.looked_ms)\n",
        "now_ms = self._ambient.now_ms()\n",
        ("tests/table/cleaning/test_truncate.py",),
    ),
    Mutant(
        "bus-by-the-name-of-a-link",
        Rule.SOURCES,
        "A bus that is opened through a symbolic link looks for its log and its locks beside the link.",
        _BUS,
        "os.path.realpath(path)",
        "os.path.abspath(path)",
        ("tests/bus/sqlite/test_sqlite_names.py",),
        NONE,
    ),
)
