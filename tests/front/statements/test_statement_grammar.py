"""What the grammar, the words that explain it and the forms that recognise it must agree on."""

import subprocess
import sys

from headgate.statements.diagnose import PLAIN_WORDS
from headgate.statements.forms import FORMS
from headgate.statements.parse import _parser

KEYWORDS = set(" ".join(form.synopsis for form in FORMS).replace("[", " ").replace("]", " ").split())


def test_every_terminal_is_a_keyword_of_a_form_or_has_plain_words() -> None:
    skipped = {"COMMENT", "WHITESPACE", "_DOT"}
    for terminal in _parser().terminals:
        name = terminal.name
        assert name in PLAIN_WORDS or name in skipped or name.removeprefix("_") in KEYWORDS


def test_plain_words_are_given_to_terminals_of_the_grammar_only() -> None:
    assert set(PLAIN_WORDS) - {"$END"} <= {terminal.name for terminal in _parser().terminals}


def test_the_parser_is_built_once() -> None:
    assert _parser() is _parser()


def test_recognising_a_statement_needs_no_parser() -> None:
    program = "import sys, headgate.statements as sql; sql.is_operator_statement('MERGE SPLITS'); print('lark' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "False"
