"""Mutants of who is told what: seqs that were passed over, ids that come again, times that are wrong, tables that come later."""

from support.mutants.mutant import NONE, Mutant, Rule

_MEMORY = "table/headgate_table/indextables/memory.py"
_GROUP = "committer/headgate_committer/group_so_far.py"
_IDS = "table/headgate_table/indextables/remembered_ids.py"
_NOISE_TESTS = "tests/committer/test_noisy_refusals.py"
_SEQ_TESTS = "tests/committer/test_passed_over_seqs.py"
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
        "            self.refused_horizon_ms = max(self.refused_horizon_ms, known.appended_ms)\n",
        "            self.lose(known.appended_ms)\n",
        (_NOISE_TESTS, _MEMORY_TESTS),
    ),
    Mutant(
        "refusals-share-the-bound",
        Rule.HORIZON,
        "Refusals take the room of accepted ids.",
        _IDS,
        "            if self._count <= clocks.max_ids and",
        "            if self._count + len(self.refused) <= clocks.max_ids and",
        (_NOISE_TESTS, _MEMORY_TESTS),
    ),
    Mutant(
        "forgotten-refusal-decided-again",
        Rule.HORIZON,
        "An id that was refused and forgotten is committed when it comes again an hour later.",
        _MEMORY,
        "        if appended_ms - created_ms >= LATE_MS:\n",
        "        if appended_ms - created_ms >= LATE_MS * 1_000_000:\n",
        (_NOISE_TESTS,),
        NONE,
    ),
)
