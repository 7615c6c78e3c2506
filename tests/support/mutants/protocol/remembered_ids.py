"""Mutants of who is told what: seqs that were passed over, ids that come again, times that are wrong, tables that come later."""

from support.mutants.mutant import NONE, Mutant, Rule, models

_MEMORY = "table/headgate_table/coordination/memory.py"
_GROUP = "committer/headgate_committer/deciding/group_so_far.py"
_IDS = "table/headgate_table/coordination/remembered_ids.py"
_NOISE_TESTS = "tests/committer/partition/test_noisy_refusals.py"
_MODEL_TESTS = "tests/table/coordination/test_memory_model.py"
_TIME_TESTS = "tests/committer/table/test_times_ahead.py"
_RETRY_TESTS = "tests/producer/test_retried_ids.py"
_BEFORE_TESTS = "tests/committer/test_before_the_table.py"
_SEQ_TESTS = "tests/committer/partition/test_passed_over_seqs.py"
_MEMORY_TESTS = "tests/table/coordination/test_table_memory.py"

MUTANTS = (
    Mutant(
        "passed-over-seq-is-a-duplicate",
        Rule.SEQS,
        "A seq that comes after a later one is told the version of that one.",
        _MEMORY,
        "        if version is not None:\n            return Duplicate(version, proposal_id)\n        if self._is_gap_known(writer):\n",
        "        if version is None:\n            version = recent[-1][1]\n        if version is not None:\n"
        "            return Duplicate(version, proposal_id)\n        if self._is_gap_known(writer):\n",
        (_SEQ_TESTS,),
    ),
    Mutant(
        "seq-passed-over-in-its-group-is-committed",
        Rule.SEQS,
        "Within a group, a lower seq is accepted after a higher one.",
        _GROUP,
        "        newer = self._memory.newer_seq(writer) if accepted is None else accepted[-1]\n",
        "        newer = self._memory.newer_seq(writer)\n",
        (_SEQ_TESTS,),
    ),
    Mutant(
        "gap-over-lost-versions-is-known",
        Rule.SEQS,
        "A seq is called passed over though a version that is lost may have committed it.",
        _MEMORY,
        "        return bool(below) and below[-1] + 1 >= self.decisions_from\n",
        "        return bool(below)\n",
        (_MEMORY_TESTS,),
        NONE,
    ),
    Mutant(
        "refusals-move-the-horizon",
        Rule.HORIZON,
        "Refusals that are forgotten make the fresh proposals of everybody expire.",
        _IDS,
        "            self.refused_horizon_ms = max(self.refused_horizon_ms, known.decided_ms)\n",
        "            self.lose(known.decided_ms)\n",
        (_NOISE_TESTS, _MEMORY_TESTS),
    ),
    Mutant(
        "refusals-share-the-bound",
        Rule.HORIZON,
        "Refusals take the room of accepted ids.",
        _IDS,
        "(self._count > clocks.max_ids or",
        "(self._count + len(self.refused) > clocks.max_ids or",
        (_NOISE_TESTS, _MEMORY_TESTS),
    ),
    Mutant(
        "forgotten-refusal-decided-again",
        Rule.HORIZON,
        "An id that was refused and forgotten is committed when it comes again an hour later.",
        _MEMORY,
        "        if appended_ms - created_ms >= LATE_MS and",
        "        if appended_ms - created_ms >= LATE_MS * 1_000_000 and",
        (_NOISE_TESTS,),
        NONE,
    ),
    Mutant(
        "times-of-the-bus-age-ids",
        Rule.HORIZON,
        "One batch that the bus dates a month ahead has all ids forgotten.",
        _MEMORY,
        "        told_ms = min(settled.appended_ms, record.time_ms) if record.time_ms else settled.appended_ms\n",
        "        told_ms = settled.appended_ms\n",
        (_TIME_TESTS,),
        models(_MODEL_TESTS, 300),
    ),
    Mutant(
        "horizon-by-the-bus",
        Rule.HORIZON,
        "A bus whose clock is a month ahead makes everybody's proposals expire.",
        _IDS,
        "self.decided_ms if self.made_ms is None else self.made_ms)\n",
        "self.decided_ms + 3_600_000)\n",
        (_TIME_TESTS, _MODEL_TESTS),
        models(_MODEL_TESTS, 800),
    ),
    Mutant(
        "author-of-the-future-believed",
        Rule.HORIZON,
        "A proposal made by a clock that is a month ahead counts as new, whatever was forgotten.",
        _MEMORY,
        "        return created_ms > max(now_ms, self.newest_ms) + MAX_AHEAD_MS\n",
        "        return False\n",
        (_TIME_TESTS, _MODEL_TESTS),
        NONE,
    ),
    Mutant(
        "author-of-the-future-moves-the-horizon",
        Rule.HORIZON,
        "What an author a month ahead has committed makes everybody's proposals expire when its week is over.",
        _IDS,
        "            if ids.is_direct or ids.horizon_ms <= clocks.bus_ms:\n",
        "            if ids.is_direct or ids.horizon_ms >= 0:\n",
        (_MEMORY_TESTS, _MODEL_TESTS),
        models(_MODEL_TESTS, 300),
    ),
    Mutant(
        "retry-is-dated-anew",
        Rule.HORIZON,
        "An id that is proposed again counts as made now, however long ago its first attempt was.",
        "producer/headgate_producer/delivery/drafts.py",
        "        return proposal_id, first_made(proposal_id, now_ms)\n",
        "        return proposal_id, now_ms\n",
        (_RETRY_TESTS,),
    ),
    Mutant(
        "forgotten-direct-ids-are-new",
        Rule.HORIZON,
        "A direct commit under an id that was forgotten is committed again.",
        _IDS,
        "            self.direct_horizon_ms = max(self.direct_horizon_ms, ids.horizon_ms)\n",
        "            pass\n",
        (_RETRY_TESTS,),
        NONE,
    ),
    Mutant(
        "told-before-the-table-forgotten",
        Rule.RECEIPTS,
        "What was refused while there was no table is committed once it is there.",
        "committer/headgate_committer/table/table_committer.py",
        "        return self._letters.refusals()\n",
        "        return {}\n",
        (_BEFORE_TESTS,),
        NONE,
    ),
    Mutant(
        "create-forgets-what-was-told-before",
        Rule.RECEIPTS,
        "The version that makes a table does not hold what was told before.",
        "committer/headgate_committer/deciding/creation.py",
        "        (*before(), decided),\n",
        "        (decided,),\n",
        (_BEFORE_TESTS,),
        NONE,
    ),
    Mutant(
        "rewrite-into-nothing",
        Rule.REWRITES,
        "A rewrite without an output drops files whose row counts nobody knows.",
        "table/headgate_table/indextables/rules/decide.py",
        "    if not after and None in before:\n",
        "    if not after and before == ():\n",
        ("tests/table/commit/test_decide.py",),
        NONE,
    ),
)
