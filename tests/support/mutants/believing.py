"""Mutants of what is believed of the world outside: disks, stores, clocks, addresses, and files that other writers left."""

from support.mutants.mutant import NONE, Mutant, Rule

_RULES = "tests/simulation/test_rule_"
_LOCAL = "table/headgate_table/store/local.py"
_UNDECIDED = "worker/headgate_worker/undecided.py"
_UNDECIDED_TESTS = "tests/worker/test_clean_undecided.py"
_MEMORY = "table/headgate_table/indextables/memory.py"
_TIMES = "table/headgate_table/indextables/commit_times.py"
_CLOCK_TESTS = "tests/table/commit/test_wrong_clocks.py"
_LATE = "table/headgate_table/indextables/late_versions.py"
_WRITER = "table/headgate_table/indextables/version_writer.py"
_PAIR_TESTS = "tests/table/commit/test_late_pairs.py"
_CONDITION_TESTS = "tests/table/store/test_conditions.py"
_ADDRESS_TESTS = "tests/committer/test_two_addresses.py"
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
    Mutant(
        "version-of-a-restore-cleaned",
        Rule.CLEANING,
        "What an undecided restore is to bring back is cleaned before it is decided.",
        _UNDECIDED,
        "            rebuilt.add(operation.version)\n",
        "            pass\n",
        (f"{_UNDECIDED_TESTS}::test_every_readable_version_that_is_to_be_restored_is_restored",),
        NONE,
    ),
    Mutant(
        "base-of-a-swap-cleaned",
        Rule.CLEANING,
        "The state that an undecided swap replaces manifests of is cleaned.",
        _UNDECIDED,
        "            rebuilt.add(operation.base)\n",
        "",
        (_UNDECIDED_TESTS,),
        NONE,
    ),
    Mutant(
        "versions-that-were-read-cleaned",
        Rule.CLEANING,
        "Versions that a serializable proposal must be compared with are cleaned, so that it is refused.",
        _UNDECIDED,
        "            compared.add(proposal.read_set.based_on)\n",
        "            pass\n",
        (_UNDECIDED_TESTS,),
        NONE,
    ),
    Mutant(
        "purge-forgotten-by-one-clock",
        Rule.PURGE,
        "One version that is dated far ahead ends the time for which purged paths are forbidden.",
        _MEMORY,
        "            self._sure_ms = min(earlier_ms, record.time_ms)\n",
        "            self._sure_ms = max(earlier_ms, record.time_ms)\n",
        (f"{_CLOCK_TESTS}::test_a_purge_stands_as_long_as_no_two_wrong_clocks_agree",),
        NONE,
    ),
    Mutant(
        "purge-dated-by-a-slow-clock",
        Rule.PURGE,
        "A purge by a clock that is days behind is forgotten days too early.",
        _MEMORY,
        "            latest_ms = max(earlier_ms, record.time_ms)\n",
        "",
        (_CLOCK_TESTS,),
        NONE,
    ),
    Mutant(
        "future-handed-on",
        Rule.PURGE,
        "A time in the future is taken over by every later version.",
        _TIMES,
        "    return told_ms if now_ms < told_ms <= now_ms + believed_ms else now_ms\n",
        "    return max(told_ms, now_ms)\n",
        (f"{_CLOCK_TESTS}::test_a_time_is_near_the_clock_that_counts_and_goes_back_only_from_what_is_beyond_belief",),
        NONE,
    ),
    Mutant(
        "own-clock-believed",
        Rule.PURGE,
        "A version is dated by its writer's clock, whatever the store's says.",
        _TIMES,
        "    if server_ms is not None:\n        now_ms,",
        "    if server_ms is not None and server_ms < 0:\n        now_ms,",
        (_CLOCK_TESTS,),
        NONE,
    ),
    Mutant(
        "any-file-for-a-predecessor",
        Rule.PREDECESSOR,
        "Whatever file lies below a new version is taken for its predecessor, as another late writer's.",
        _WRITER,
        "    if looks_like(known, seen):\n",
        "    if seen is not None:\n",
        (f"{_PAIR_TESTS}::test_however_many_come_late_each_is_told_the_truth", f"{_RULES}01_predecessor.py"),
    ),
    Mutant(
        "disowned-version-believed",
        Rule.PREDECESSOR,
        "A version counts although the next one names another predecessor.",
        _LATE,
        "    return named.previous == mark_of(own)\n",
        "    return True\n",
        (f"{_PAIR_TESTS}::test_however_many_come_late_each_is_told_the_truth",),
        NONE,
    ),
    Mutant(
        "any-server-trusted",
        Rule.FOLDING,
        "Nobody asks a server whether it creates only what is absent, before versions are written to it.",
        _WRITER,
        "    require_conditions(store, lambda: body.nonce)\n",
        "",
        (_CONDITION_TESTS,),
        NONE,
    ),
    Mutant(
        "any-server-trusted-with-manifests",
        Rule.MANIFESTS,
        "The same before a Milvus manifest is committed directly.",
        "table/headgate_table/milvus/log.py",
        "        require_conditions(self._store, self._ambient.new_id)\n",
        "",
        (_CONDITION_TESTS,),
        NONE,
    ),
    Mutant(
        "denial-believed",
        Rule.FOLDING,
        "A server that says that the object was there, and has overwritten it, is trusted.",
        "table/headgate_table/store/conditions.py",
        "    if answer.is_created or is_overwritten:\n",
        "    if answer.is_created:\n",
        (_CONDITION_TESTS,),
        NONE,
    ),
    Mutant(
        "two-addresses-of-one-table",
        Rule.SOURCES,
        "Two schemes that lead to one container are served like two tables.",
        "committer/headgate_committer/lane.py",
        "            self._served.check_place(uri, reader.store.place)\n",
        "",
        (_ADDRESS_TESTS,),
        NONE,
    ),
    Mutant(
        "one-table-at-two-places",
        Rule.SOURCES,
        "A table whose id is open under another address is served as well.",
        "committer/headgate_committer/table_committer.py",
        "                self._check_id(table_id)\n",
        "                pass\n",
        (_ADDRESS_TESTS,),
        NONE,
    ),
)
