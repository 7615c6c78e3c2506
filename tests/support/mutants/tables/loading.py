"""Mutants of rows on their way into a table: what texts and other producers' values would become."""

from support.mutants.mutant import NONE, Mutant, Rule, models

_TEXT_VALUES = "table/headgate_table/rows/text_values.py"
_JSON = "table/headgate_table/rows/json_lines.py"
_LOAD_TESTS = ("tests/front/cli/test_cli_load.py",)
_TEXTS = "tests/table/rows/test_texts_as_values.py"
_TYPES = "tests/table/rows/test_drawn_arrow_types.py"

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
        "list-views-are-emptied",
        Rule.VALUES,
        "A list view becomes a list by PyArrow's cast, which empties it or refuses it.",
        "table/headgate_table/rows/nested.py",
        "    if types.is_list(wanted):\n",
        "    if types.is_list(wanted) and not types.is_list_view(array.type):\n",
        ("tests/table/rows/test_incoming_rows.py",),
        models(_TYPES, 2_000),
    ),
    Mutant(
        "dictionaries-of-views-are-refused",
        Rule.VALUES,
        "A dictionary of views is cast by PyArrow, which refuses it.",
        "table/headgate_table/rows/nested.py",
        "    if types.is_dictionary(array.type):\n",
        "    if types.is_dictionary(array.type) and not types.is_string_view(array.type.value_type):\n",
        ("tests/table/rows/test_incoming_rows.py",),
        models(_TYPES, 2_000),
    ),
    Mutant(
        "addresses-of-objects-are-written",
        Rule.VALUES,
        "A Polars column of Python objects is taken: Arrow sees their addresses in memory.",
        "table/headgate_table/rows/incoming.py",
        '_FOREIGN = {"Object": "pl.String", ',
        "_FOREIGN = {",
        (_TYPES,),
        NONE,
    ),
    Mutant(
        "terms-are-checked-after-files",
        Rule.FITTING,
        "A producer's write with wrong terms is refused after its files are written.",
        "producer/headgate_producer/producer.py",
        "        self._drafted(Append(()), terms)  # so that wrong terms are refused before files are written\n",
        "",
        ("tests/front/test_front_write.py",),
        NONE,
    ),
    Mutant(
        "batches-say-their-own-columns",
        Rule.FITTING,
        "The files of a batch job hold whatever columns its rows have.",
        "table/headgate_table/rows/writing.py",
        "    if metadata.schema_string:\n",
        "    if len(metadata.schema_string) < 0:\n",
        ("tests/producer/test_batch_job.py",),
        NONE,
    ),
    Mutant(
        "public-names-need-extras",
        Rule.FITTING,
        "A public name that needs an extra raises at its import, and `import *` with it.",
        "producer/headgate_producer/batch/kafka_source.py",
        "    _MISSING: ModuleNotFoundError | None = error\n",
        "    raise BusError(str(error)) from error\n",
        ("tests/front/test_missing_extras.py",),
        NONE,
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
