"""Mutants of Milvus manifests: the same promises, kept by records beside them."""

from support.mutants.mutant import MILVUS, Mutant, Rule

_LOG = "committer/headgate_committer/milvus/milvus_backend.py"
_WRITER = "table/headgate_table/milvus/committed/writer.py"
_HISTORIES = "tests/committer/milvus/test_milvus_histories.py"
_GROUPS = "tests/committer/milvus/test_milvus_groups.py"
_REPEATS = "tests/committer/milvus/test_milvus_repeats.py"

MUTANTS = (
    Mutant(
        "milvus-appends-twice",
        Rule.MANIFESTS,
        "What another committer decided is not remembered, and its transactions are applied again.",
        _LOG,
        "            self.memory.apply_record(record.id.version, commit)\n",
        "",
        (_HISTORIES,),
        MILVUS,
    ),
    Mutant(
        "milvus-remembers-before-it-has-read",
        Rule.MANIFESTS,
        "What others decided is remembered although reading their versions failed, and is told as a repetition.",
        _LOG,
        "        commits = events_of(self._recorded, came, self._ambient.now_ms())\n",
        "        for record in standing.since:\n"
        "            self.memory.apply_record(record.id.version, record.commit or CommitRecord())\n"
        "        commits = events_of(self._recorded, came, self._ambient.now_ms())\n",
        (_HISTORIES,),
        MILVUS,
    ),
    Mutant(
        "milvus-takes-others-numbers",
        Rule.MANIFESTS,
        "A manifest that another wrote under our number is taken for ours.",
        _WRITER,
        "                if digest_of(there) != record.id.digest:\n",
        "                if digest_of(there) == '':\n",
        (_HISTORIES,),
        MILVUS,
    ),
    Mutant(
        "milvus-record-of-another",
        Rule.MANIFESTS,
        "A record that another committer wrote for the same bytes is taken for ours.",
        _WRITER,
        "    return there.commit.nonce == ours.commit.nonce\n",
        "    return True\n",
        (_HISTORIES,),
        MILVUS,
    ),
    Mutant(
        "milvus-predecessor-not-looked-for",
        Rule.MANIFESTS,
        "A manifest below a log that was cleaned is taken for committed.",
        _WRITER,
        "        _check_predecessor(log, record)\n",
        "",
        (_HISTORIES,),
        MILVUS,
    ),
    Mutant(
        "milvus-fail-that-never-fails",
        Rule.MANIFESTS,
        "The resolver `fail` accepts a transaction although others changed what it read.",
        "table/headgate_table/milvus/rules/decide.py",
        "    elif version < seen.same_since:\n",
        "    elif version < 0:\n",
        (_GROUPS,),
        MILVUS,
    ),
    Mutant(
        "milvus-overwrites-in-company",
        Rule.MANIFESTS,
        "A transaction that overwrites joins a group, and drops what the group added.",
        "committer/headgate_committer/milvus/grouping.py",
        "        begins = overwrites(opened) or not (self._newest > 0 or isinstance(opened, Milvus))\n",
        "        begins = not (self._newest > 0 or isinstance(opened, Milvus))\n",
        (_GROUPS,),
        MILVUS,
    ),
    Mutant(
        "milvus-reads-not-compared-in-a-group",
        Rule.MANIFESTS,
        "Within a group, `fail` doesn't see what the group has changed.",
        "committer/headgate_committer/milvus/grouping.py",
        "        met = SeenManifest(seen.version, manifest, version if is_grown else seen.same_since)\n",
        "        met = SeenManifest(seen.version, manifest, seen.same_since)\n",
        (_GROUPS,),
        MILVUS,
    ),
    Mutant(
        "milvus-takes-a-file-twice",
        Rule.MANIFESTS,
        "A data file that the table holds already is appended again under another id.",
        "table/headgate_table/milvus/rules/updating.py",
        "        refused = _in_use(group.files, new.files, base)\n",
        "        refused = _in_use((), new.files, base)\n",
        (_REPEATS,),
        MILVUS,
    ),
    Mutant(
        "milvus-takes-a-delta-log-twice",
        Rule.MANIFESTS,
        "A delta log that the table holds already is added again under another id.",
        "table/headgate_table/milvus/rules/updating.py",
        "repeated_delta_log(manifest.delta_logs, ",
        "repeated_delta_log((), ",
        (_REPEATS,),
        MILVUS,
    ),
    Mutant(
        "milvus-loses-a-stat-that-others-set",
        Rule.MANIFESTS,
        "A stat that was read, and that others set since, is replaced as if nobody had.",
        "table/headgate_table/milvus/rules/resolvers.py",
        "        if now != read.stats.get(key) and now != stat:\n",
        "        if now is None and read.stats.get(key) is not None:\n",
        (_REPEATS,),
        MILVUS,
    ),
)
