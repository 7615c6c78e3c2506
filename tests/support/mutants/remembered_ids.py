"""Mutants of who is told what: seqs that were passed over, ids that come again, times that are wrong, tables that come later."""

from support.mutants.mutant import NONE, Mutant, Rule

_MEMORY = "table/headgate_table/indextables/memory.py"
_GROUP = "committer/headgate_committer/group_so_far.py"
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
)
