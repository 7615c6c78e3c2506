"""Mutants of the Delta mirror: what its readers would be told wrongly, and what others would lose by it."""

from support.mutants.mutant import LOG, NONE, ROWS, Mutant, Rule, Seeds

_MIRROR = "table/headgate_table/delta/mirror.py"
_COMMIT = "table/headgate_table/delta/commit.py"
_VALUES = "table/headgate_table/delta/values.py"
_CLEANING = "table/headgate_table/indextables/cleaning/mirrored.py"
_TESTS = "tests/table/delta/test_mirror.py"
_COMMIT_TESTS = "tests/table/delta/test_delta_commits.py"
_MANY = Seeds("log", 400)

MUTANTS = (
    Mutant(
        "mirror-overwrites-strangers",
        Rule.MIRRORS,
        "A commit of the mirror is put over whatever has its number.",
        _MIRROR,
        "            match self._store.create(key, data):\n",
        "            self._store.put(key, data)\n            match self._store.create(key, data):\n",
        (_TESTS,),
        NONE,
    ),
    Mutant(
        "mirror-believes-its-head",
        Rule.MIRRORS,
        "A mirror goes on upon a commit that somebody else wrote.",
        _MIRROR,
        '        if found is None:\n            raise self._stopped(f"no mirror wrote its version {head}")\n',
        "        if found is None:\n            return\n",
        (_TESTS,),
        NONE,
    ),
    Mutant(
        "mirror-of-another-history",
        Rule.MIRRORS,
        "A mirror goes on after its table was put back to an earlier copy.",
        _MIRROR,
        "        if found.mark and wanted.mark and found.mark != wanted.mark:\n",
        "        if len(found.mark) < 0:\n",
        (_TESTS,),
        NONE,
    ),
    Mutant(
        "mirror-rebuild-deletes-tables",
        Rule.MIRRORS,
        "Making a mirror anew deletes a Delta table of its own.",
        _MIRROR,
        "        if not listing.is_empty and not self._was_ours(listing):\n",
        "        if listing.head < -1:\n",
        (_TESTS,),
        NONE,
    ),
    Mutant(
        "mirror-commit-before-checkpoint",
        Rule.MIRRORS,
        "A mirror that begins late leaves out the checkpoint that its first commit leans on.",
        _MIRROR,
        "            self._write_checkpoint(base, hint=False)\n",
        "            self._identity(base.version, base)\n",
        (_TESTS,),
        _MANY,
    ),
    Mutant(
        "mirror-forgets-removes",
        Rule.MIRRORS,
        "Files that a version removed stay in the mirror.",
        _COMMIT,
        "        if isinstance(action, AddFile | RemoveFile):\n",
        "        if isinstance(action, AddFile):\n",
        (_COMMIT_TESTS,),
        LOG,
    ),
    Mutant(
        "mirror-merges-change-data",
        Rule.MIRRORS,
        "What a merge removes is told as a change of data.",
        _COMMIT,
        '        "dataChange": remove.data_change,\n',
        '        "dataChange": True,\n',
        (_COMMIT_TESTS,),
        NONE,
    ),
    Mutant(
        "mirror-bounds-of-cut-texts",
        Rule.MIRRORS,
        "The greatest text of a file stands in the mirror as it was cut.",
        _VALUES,
        "    above = raised(high.rstrip(UNCLEAR_ENDS))\n",
        "    above = high\n",
        (_COMMIT_TESTS,),
        NONE,
    ),
    Mutant(
        "mirror-paths-unescaped",
        Rule.MIRRORS,
        "A path with a percent sign stands in the mirror as it is.",
        _VALUES,
        "        return quote(key, safe=_SAFE)\n",
        "        return key\n",
        (_COMMIT_TESTS,),
        ROWS,
    ),
    Mutant(
        "mirror-partitions-as-stored",
        Rule.MIRRORS,
        "A partition value stands in the mirror as the log stores it, escaped.",
        _VALUES,
        "                )\n            return value\n",
        "                )\n            return stored\n",
        (_COMMIT_TESTS,),
        ROWS,
    ),
    Mutant(
        "cleaning-forgets-the-mirror",
        Rule.MIRRORS,
        "Cleaning doesn't wait until the mirror has published a removal.",
        _CLEANING,
        "        return replace(protected, versions_from=needed if others is None else min(others, needed))\n",
        "        return protected\n",
        (_TESTS,),
        _MANY,
    ),
    Mutant(
        "cleaning-hurries-the-mirrors-readers",
        Rule.MIRRORS,
        "A file is deleted as soon as the mirror has published its removal.",
        _CLEANING,
        "if self._is_old(info.modified_ms, now_ms)]\n",
        "if info.modified_ms <= now_ms]\n",
        (_TESTS,),
        _MANY,
    ),
)
