"""The shell of a page of documentation, taken apart: its commands, word by word, without running any of them."""

import re
import shlex
from collections.abc import Iterator

_ENDS = {"&", "&&", "||", ";", "|"}
_KEYWORDS = {"for", "do", "done", "if", "then", "fi"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def commands(shell: str) -> Iterator[list[str]]:
    """The words of each simple command. Texts in quotes stay whole, over several lines, too."""
    for line in _whole_lines(shell):
        yield from _commands_of(line)


def _whole_lines(shell: str) -> Iterator[str]:
    """With the lines after it that a text in quotes goes on in."""
    begun = ""
    for line in shell.replace("\\\n", " ").splitlines():
        begun += line
        try:
            shlex.split(begun, comments=True)
        except ValueError:
            begun += "\n"
            continue
        yield begun
        begun = ""
    assert not begun, f"a quote is never closed: {begun}"


def _commands_of(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    words: list[str] = []
    skips = False
    for token in lexer:
        if token in _ENDS:
            yield from _simple(words)
            words, skips = [], False
        elif token in (">", ">>", "<"):
            skips = True
        elif skips:
            skips = False
        else:
            words.append(token)
    yield from _simple(words)


def _simple(words: list[str]) -> Iterator[list[str]]:
    """Without what a loop and variables put in front."""
    if words and words[0] == "for":
        return
    while words and (words[0] in _KEYWORDS or _VARIABLE.match(words[0])):
        words = words[1:]
    if words:
        yield words
