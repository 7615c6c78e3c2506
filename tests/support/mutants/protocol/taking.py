"""Mutants of batch jobs: where they begin, which topic they read, and what they pass."""

from support.mutants.mutant import NONE, Mutant, Rule, models

_JOB = "producer/headgate_producer/batch/job.py"
_ORIGIN = "producer/headgate_producer/batch/origin.py"
_SOURCES = "tests/producer/test_batch_job_sources.py"
_HISTORIES = "tests/producer/test_batch_job_histories.py"

MUTANTS = (
    Mutant(
        "topic-made-anew-is-read-on",
        Rule.SOURCES,
        "A batch job goes on at its offset in whatever topic has the name.",
        _ORIGIN,
        "    if is_other(known, seen):\n",
        "    if False:\n",
        (_SOURCES, _HISTORIES),
        models(_HISTORIES, 100),
    ),
    Mutant(
        "topic-that-has-grown-again-is-read-on",
        Rule.SOURCES,
        "A batch job believes a topic that lost its end as soon as it is as long as before.",
        _JOB,
        "        if mark is not None and mark.offset >= extent.first:\n",
        "        if mark is not None and mark.offset < extent.first:\n",
        (_SOURCES, _HISTORIES),
        models(_HISTORIES, 1_500),
    ),
    Mutant(
        "latest-in-each-run",
        Rule.SOURCES,
        "A batch job that begins at the end does so again as long as it has committed nothing.",
        _JOB,
        "committed.get(partition, beginning.offset)",
        "committed.get(partition, extents[partition].next_offset if self._start == 'latest' else beginning.offset)",
        (_SOURCES, _HISTORIES),
        models(_HISTORIES, 300),
    ),
    Mutant(
        "added-partition-from-its-end",
        Rule.SOURCES,
        "A batch job begins at the end of a partition that was added, though that is all new to it.",
        _ORIGIN,
        '    named: Start = "earliest" if isinstance(start, str) else start\n',
        "    named: Start = start\n",
        (_SOURCES, _HISTORIES),
        models(_HISTORIES, 3_000),
    ),
    Mutant(
        "stretch-without-records-again",
        Rule.SOURCES,
        "A batch job that runs for ever begins a stretch without records again and again.",
        _JOB,
        "            self._reached[partition] = reached  #",
        "            self._reached[partition] = reached if end is not None else start  #",
        (_SOURCES,),
        NONE,
    ),
    Mutant(
        "batch-from-where-reading-went-on",
        Rule.SEQS,
        "A batch begins behind the stretch without records that one run has seen, and the next run doesn't find it again.",
        _JOB,
        "Bounds(start, reached, last_mark(records))",
        "Bounds(self._reached[partition], reached, last_mark(records))",
        (_SOURCES,),
        NONE,
    ),
)
