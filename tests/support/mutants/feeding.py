"""Mutants of what feeds a table: the partition, the log that was known before, and the deployment that answers for it."""

from support.mutants.mutant import NONE, Mutant, Rule

_WRONG_PARTITION = "tests/committer/test_wrong_partition.py"

MUTANTS = (
    Mutant(
        "wrong-partition-holds-the-table",
        Rule.SOURCES,
        "A proposal on a partition that isn't its table's waits there for ever, and the partition's offset with it.",
        "committer/headgate_committer/table_committer.py",
        "        if home != here.partition:\n",
        "        if home != here.partition and memory is None:\n",
        (_WRONG_PARTITION,),
        NONE,
    ),
    Mutant(
        "wrong-partition-binds-the-table",
        Rule.SOURCES,
        "A table that nobody fed yet is made and bound on the partition that a foreign client chose.",
        "committer/headgate_committer/table_committer.py",
        "        self._check_home(None)\n",
        "",
        (_WRONG_PARTITION,),
        NONE,
    ),
    Mutant(
        "misplaced-told-as-rejected",
        Rule.ANSWERS,
        "The author of a misplaced proposal is told that it was rejected, though it may be committed where it belongs.",
        "committer/headgate_committer/answers.py",
        "    if letter.proposal_id is not None and letter.is_told:\n",
        "    if letter.proposal_id is not None:\n",
        (_WRONG_PARTITION,),
        NONE,
    ),
)
