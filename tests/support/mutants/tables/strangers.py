"""Mutants of what somebody does who has not read the documentation: lost files, wrong types, and things in the log's place."""

from support.mutants.mutant import DAMAGE, NONE, Mutant, Rule

_LOST = "table/headgate_table/indextables/log/lost_versions.py"
_LOST_TESTS = "tests/table/damage/test_lost_versions.py"
_OBSTACLE_TESTS = "tests/committer/table/test_obstacles.py"
_ARGUMENTS = "schemas/headgate_schemas/arguments.py"
_TYPE_TESTS = "tests/front/test_wrong_types.py"
_BEHIND_TESTS = "tests/table/damage/test_bytes_behind.py"

MUTANTS = (
    Mutant(
        "hole-taken-for-cleaning",
        Rule.DAMAGE,
        "A version file that is lost from the middle of the log counts as cleaned.",
        _LOST,
        "        if record is None or not record.previous:\n",
        "        if record is None or record.previous:\n",
        (_LOST_TESTS,),
        DAMAGE,
    ),
    Mutant(
        "late-file-proves-a-loss",
        Rule.DAMAGE,
        "A file that came late into a cleaned number makes what was cleaned above it a loss.",
        _LOST,
        "    return own is not None and before is not None and bool(own.previous) and own.previous == before.nonce\n",
        "    return own is not None and before is not None\n",
        (_LOST_TESTS,),
        NONE,
    ),
    Mutant(
        "cleaning-over-a-hole",
        Rule.CLEANING,
        "A table from whose log a version file is lost is cleaned all the same.",
        "table/headgate_table/indextables/cleaning/open_damage.py",
        " if lost else None\n",
        " if not anchors else None\n",
        (_LOST_TESTS,),
        DAMAGE,
    ),
    Mutant(
        "bytes-behind-a-version-ignored",
        Rule.DAMAGE,
        "What follows the gzip stream of a version file of ours is ignored.",
        "table/headgate_table/indextables/format/version_file.py",
        "    if has_seal or any(isinstance(action, CommitInfo) for action in actions):\n        _check_end(",
        "    if has_seal and not actions:\n        _check_end(",
        (_BEHIND_TESTS,),
        DAMAGE,
    ),
    Mutant(
        "bytes-behind-a-checkpoint-ignored",
        Rule.DAMAGE,
        "What follows the gzip stream of a JSON checkpoint of ours is ignored.",
        "table/headgate_table/indextables/format/version_file.py",
        "    if has_own_name:\n        _check_end(packed, name)\n",
        "",
        (_BEHIND_TESTS,),
        DAMAGE,
    ),
    Mutant(
        "bytes-behind-a-frame-ignored",
        Rule.DAMAGE,
        "What follows the zstandard frame in a block of an Avro file is ignored.",
        "table/headgate_table/avro/container.py",
        "    if behind > 0:\n",
        "    if behind > len(raw):\n",
        (_BEHIND_TESTS,),
        NONE,
    ),
    Mutant(
        "obstacle-taken-for-a-version",
        Rule.OUTAGES,
        "A link to nothing or a pipe in the next version's place counts as another writer's version.",
        "table/headgate_table/store/local/store.py",
        "        if obstacle is not None:\n",
        '        if obstacle == "a folder":\n',
        (_OBSTACLE_TESTS,),
        NONE,
    ),
    Mutant(
        "obstacle-not-verified",
        Rule.DAMAGE,
        "Verifying doesn't look for what stands in the log's place and is no file.",
        "table/headgate_table/indextables/verify/log.py",
        "    for each in found:\n",
        "    for each in found[:0]:\n",
        (_OBSTACLE_TESTS,),
        NONE,
    ),
    Mutant(
        "wrong-types-taken",
        Rule.ANSWERS,
        "What programs give to public functions is not looked at.",
        _ARGUMENTS,
        "                    given[name] = rule(name, given[name])\n",
        "                    given[name] = given[name]\n",
        (_TYPE_TESTS,),
        NONE,
    ),
    Mutant(
        "true-is-a-version",
        Rule.ANSWERS,
        "True counts as the number 1.",
        _ARGUMENTS,
        "    if isinstance(given, bool) or not isinstance(given, Integral) or not -_LARGEST",
        "    if not isinstance(given, Integral) or not -_LARGEST",
        (_TYPE_TESTS,),
        NONE,
    ),
)
