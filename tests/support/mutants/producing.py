"""Mutants of those who propose: claims, the producer, and what Spark's driver runs for a batch."""

from support.mutants.mutant import NONE, Mutant, Rule

_STEPS = "tests/spark/test_spark_stream_sink_steps.py"

MUTANTS = (
    Mutant(
        "digest-not-compared",
        Rule.CLAIMS,
        "What lies behind a claim is decided upon, whatever it is.",
        "bus/headgate_bus/claims.py",
        "    if found != claim.sha256:\n",
        "    if not found:\n",
        ("tests/bus/test_claims.py",),
        NONE,
    ),
    Mutant(
        "claims-swept-too-early",
        Rule.CLAIMS,
        "A claim is swept although an undecided proposal names it.",
        "bus/headgate_bus/claims.py",
        "        if not still_needed(info.key):\n",
        "        if not still_needed(''):\n",
        ("tests/bus/test_claims.py",),
        NONE,
    ),
    Mutant(
        "replayed-batch-is-new",
        Rule.STREAMS,
        "A batch of a stream is proposed without its number, so that a replay is taken for new rows.",
        "producer/pyspark_headgate/after_written.py",
        "    receipt = target.commit(operation, proposal_id, writer)\n",
        "    receipt = target.commit(operation, proposal_id)\n",
        (_STEPS,),
    ),
    Mutant(
        "lost-batch-proposed-anew",
        Rule.STREAMS,
        "What nobody could tell is proposed again under another id and without its number.",
        "producer/pyspark_headgate/table_target.py",
        "                    ticket = lent.producer().propose(operation, proposal_id=proposal_id, writer=writer)\n",
        "                    ticket = lent.producer().propose(operation, proposal_id=self.ambient.new_id())\n",
        (_STEPS,),
    ),
    Mutant(
        "refused-batch-passes",
        Rule.STREAMS,
        "A batch that the table refused is told to Spark as committed.",
        "producer/pyspark_headgate/after_written.py",
        '            raise _refused(target, receipt, "nothing was written")\n',
        "            return receipt\n",
        ("tests/spark/test_spark_write_races.py",),
        NONE,
    ),
    Mutant(
        "batches-share-one-counter",
        Rule.STREAMS,
        "All queries count their batches together, so that one's rows are taken for the other's.",
        "producer/pyspark_headgate/stream_sink.py",
        '    return f"spark/{query}"\n',
        '    return "spark"\n',
    ),
    Mutant(
        "message-changed-when-sent-again",
        Rule.ORDER,
        "A message that the bus may have is dropped instead of being sent again.",
        "producer/headgate_producer/outbox.py",
        "        self._ready.extendleft(out for out in reversed(batch) if out.stage is Stage.QUEUED)\n",
        "",
        ("tests/producer/test_outbox.py",),
        NONE,
    ),
)
