"""Mutants of rows on their way into a table: what texts and other producers' values would become."""

from support.mutants.mutant import Mutant, Rule, models

_TEXT_VALUES = "table/headgate_table/rows/text_values.py"
_JSON = "table/headgate_table/rows/json_lines.py"
_LOAD_TESTS = ("tests/front/cli/test_cli_load.py",)
_TEXTS = "tests/table/rows/test_texts_as_values.py"

MUTANTS = (
    Mutant(
        "loaded-numbers-are-rounded",
        Rule.VALUES,
        "A number of CSV with more digits than a double keeps becomes the nearest double.",
        _TEXT_VALUES,
        "    if not all(number_is_held(text, value) for text, value in rest):\n",
        "    if not all(isinstance(value, float) for _, value in rest):\n",
        _LOAD_TESTS,
        models(_TEXTS, 2_000),
    ),
    Mutant(
        "loaded-codes-are-numbers",
        Rule.VALUES,
        "A code of CSV that begins with a zero becomes a number in a new table.",
        _TEXT_VALUES,
        '_PLAIN_WHOLE = r"^(0|-?[1-9][0-9]*)$"\n',
        '_PLAIN_WHOLE = r"^-?[0-9]+$"\n',
        _LOAD_TESTS,
        models(_TEXTS, 2_000),
    ),
    Mutant(
        "json-numbers-are-rounded",
        Rule.VALUES,
        "A number of NDJSON with more digits than a double keeps becomes the nearest double.",
        _JSON,
        '_DOUBLE_MAY_ROUND = re.compile(rb"[0-9.]{16}|[eE][+-]?[0-9]{3}")\n',
        '_DOUBLE_MAY_ROUND = re.compile(rb"[0-9.]{40}")\n',
        _LOAD_TESTS,
        models(_TEXTS, 2_000),
    ),
    Mutant(
        "json-instants-lose-their-zone",
        Rule.VALUES,
        "A time of NDJSON with a zone becomes a local time.",
        _JSON,
        "    if types.is_temporal(type_):\n        return pa.string()\n",
        "",
        _LOAD_TESTS,
        models(_TEXTS, 2_000),
    ),
)
