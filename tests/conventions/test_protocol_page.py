"""The commit protocol's page: whatever is cited by number has a heading there, and every heading has tests and mutants."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from headgate_schemas.messages.operation_bodies import OperationBody
from headgate_schemas.messages.operations import RejectCode
from support.docs.page_blocks import DOCS, ROOT, blocks_of
from support.mutants.catalogue import MUTANTS
from support.mutants.mutant import Mutant, Rule
from support.simulation.judge.codes import CODES, NEVER_DECIDED, UNDECIDED, may_hold

PAGE = DOCS / "protocol.md"
TEXT = PAGE.read_text(encoding="utf-8")
FOLDERS = (
    "schemas",
    "table",
    "bus",
    "producer",
    "committer",
    "worker",
    "front",
    "tests",
    "docs",
    "examples",
    "benchmarks",
)
KINDS = {".py", ".md", ".toml", ".js", ".java", ".yaml"}

NUMBERED = re.compile(r"(Rule|Invariant) (\d+): .+")
CITED = re.compile(r"\b(rule|invariant)s?\s+(\d+(?:(?:,\s*|\s+and\s+|\s+to\s+)\d+)*)", re.IGNORECASE)
TESTS = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)")
MUTANT = {mutant.name: mutant for mutant in MUTANTS}


@dataclass(frozen=True, slots=True)
class Section:
    """A rule, an invariant or a promise: what stands under its heading."""

    title: str
    body: str

    @property
    def number(self) -> str | None:
        """As it is cited, such as `rule 7`; None of a promise, which is cited by the name of its `Rule`."""
        found = NUMBERED.fullmatch(self.title)
        return None if found is None else f"{found[1].lower()} {found[2]}"

    @property
    def tests(self) -> list[tuple[str, str]]:
        """Files, with the name of a test in some of them."""
        return TESTS.findall(self._line("Tests"))

    @property
    def mutants(self) -> list[str]:
        return re.findall(r"`([a-z][a-z0-9-]+)`", self._line("Mutants"))

    @property
    def rules(self) -> list[str]:
        """The members of `Rule` by which its mutants cite it."""
        return re.findall(r"`Rule\.([A-Z]+)`", self._line("Mutants"))

    def _line(self, opening: str) -> str:
        found = re.search(rf"^{opening}\b[^:]*:.*?(?=\n\n|\Z)", self.body, re.MULTILINE | re.DOTALL)
        return "" if found is None else found[0]


def part(title: str) -> str:
    """What stands under a heading of the second level."""
    return re.split(r"^## ", TEXT.partition(f"\n## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def sections(title: str) -> list[Section]:
    pieces = re.split(r"^### (.*)\n", part(title), flags=re.MULTILINE)[1:]
    return [Section(*each) for each in zip(pieces[::2], pieces[1::2], strict=True)]


INVARIANTS, RULES, PROMISES = map(sections, ("Invariants", "Rules", "Promises beside the protocol"))
ALL = [*INVARIANTS, *RULES, *PROMISES]
each_section = pytest.mark.parametrize("section", ALL, ids=lambda section: section.title)


def cited(text: str) -> Iterator[str]:
    """`invariants 1 and 3`, `rules 2 to 4`: each of them by itself."""
    for kind, numbers in CITED.findall(text):
        pieces = re.split(r"(\s+to\s+|,\s*|\s+and\s+)", numbers)
        last = int(pieces[0])
        yield f"{kind.lower()} {last}"
        for between, piece in zip(pieces[1::2], pieces[2::2], strict=True):
            first = last + 1 if between.strip() == "to" else int(piece)
            for number in range(first, int(piece) + 1):
                yield f"{kind.lower()} {number}"
            last = int(piece)


def rows(text: str) -> list[list[str]]:
    """Of every table in it, without headings."""
    found = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    rules = [number for number, row in enumerate(found) if all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    return [row for number, row in enumerate(found) if number not in rules and number + 1 not in rules]


def anchors(page: Path) -> set[str]:
    """As the site makes them of headings."""
    return {
        re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())
        for title in re.findall(r"^#{1,6} (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }


def breaks(mutant: Mutant) -> set[str]:
    """What it cites."""
    return set(cited(mutant.rule.value)) or {mutant.rule.name}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("see rule 7.", ["rule 7"]),
        ("Invariants 6 and 7: …", ["invariant 6", "invariant 7"]),
        ("(invariants 1, 5)", ["invariant 1", "invariant 5"]),
        ("(rule 3, invariant 7)", ["rule 3", "invariant 7"]),
        ("invariants\n1 to 3", ["invariant 1", "invariant 2", "invariant 3"]),
        ("a ruler 7 cm long, and rules of 4", []),
    ],
)
def test_citations_are_found(text: str, meant: list[str]) -> None:
    assert list(cited(text)) == meant


def test_whatever_is_cited_has_a_heading() -> None:
    known = {section.number for section in ALL}
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
    places = {
        f"{path.relative_to(ROOT)}: {number}": number
        for path in [*files, *ROOT.glob("*.md"), ROOT / "Makefile"]
        if path not in (PAGE, Path(__file__))
        for number in cited(path.read_text(encoding="utf-8"))
    }
    assert [place for place, number in places.items() if number not in known] == []
    assert {f"rule {number}" for number in range(1, 13)} <= set(places.values())


def test_numbers_are_each_given_once_and_without_a_gap() -> None:
    assert [section.number for section in RULES] == [f"rule {number}" for number in range(1, len(RULES) + 1)]
    assert [section.number for section in INVARIANTS] == [
        f"invariant {number}" for number in range(1, len(INVARIANTS) + 1)
    ]
    assert [section.number for section in PROMISES] == [None] * len(PROMISES)


@each_section
def test_a_section_tells_the_history_that_breaks_without_it(section: Section) -> None:
    history = section.body.partition("\nWithout it")[2]
    assert len(re.findall(r"^\d\. ", history, re.MULTILINE)) >= 2


@each_section
def test_a_section_names_tests_that_there_are(section: Section) -> None:
    assert section.tests
    missing = [
        f"{path}::{name}" if name else path
        for path, name in section.tests
        if not (ROOT / path).is_file() or f"def {name}" not in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert missing == []


@each_section
def test_a_section_names_mutants_that_break_it(section: Section) -> None:
    """An invariant may be broken by a mutant of a rule that holds it up."""
    assert section.mutants
    assert [name for name in section.mutants if name not in MUTANT] == []
    numbers = {section.number, *section.rules} - {None}
    if section in INVARIANTS and not section.rules:
        numbers |= set(cited(section.body))
    assert [name for name in section.mutants if not breaks(MUTANT[name]) & numbers] == []
    assert [
        name for name in section.rules if not any(MUTANT[each].rule is Rule[name] for each in section.mutants)
    ] == []


def test_every_promise_that_mutants_cite_has_its_section() -> None:
    of_numbers = {number for rule in Rule for number in cited(rule.value)}
    assert of_numbers <= {section.number for section in ALL}
    named = {name for section in ALL for name in section.rules}
    assert named == {rule.name for rule in Rule}
    assert {name for section in PROMISES for name in section.rules} == {
        rule.name for rule in Rule if not set(cited(rule.value))
    }


def test_every_operation_is_in_the_table_with_its_codes() -> None:
    told = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1])) for row in rows(part("Operations"))}
    messages = (DOCS / "messages.md").read_text(encoding="utf-8")
    refused = {
        row[0].strip("`"): set(re.findall(r"`(\w+)`", row[2]))
        for row in rows(messages.partition("### Operations")[2].partition("| code |")[0])
    }
    assert told == refused
    bodies = get_args(get_args(OperationBody)[0])
    assert told.keys() == {get_args(body.model_fields["type"].annotation)[0] for body in bodies}
    judged = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower(): codes for name, codes in CODES.items()}
    assert {name: {code.value for code in codes} for name, codes in judged.items()} == told


def test_every_code_is_in_the_table() -> None:
    listed = rows(part("Rejection codes"))
    assert {row[0].strip("`") for row in listed} == {code.value for code in RejectCode}
    assert all(row[2].startswith(("decision", "dead letter", "memory")) for row in listed)
    of_operations = {code for row in rows(part("Operations")) for code in re.findall(r"`(\w+)`", row[1])}
    of_any = set(re.findall(r"`(\w+)`", part("Operations").rpartition("Any proposal may")[2]))
    assert of_operations | of_any == {code.value for code in RejectCode}
    assert not of_operations & of_any


def test_the_judge_knows_which_codes_are_decisions() -> None:
    """Break: leave a code out. Whoever is refused by it is taken for wronged, or a decision that no version can hold is believed."""
    kinds: dict[RejectCode, set[str]] = {}
    for code, _, kind in rows(part("Rejection codes")):
        kinds.setdefault(RejectCode(code.strip("`")), set()).add(kind)
    decided = {code for code, told in kinds.items() if "decision" in told}
    dead = {code for code, told in kinds.items() if any(kind.startswith("dead letter") for kind in told)}
    assert {code for code in RejectCode if any(may_hold(kind, code, by_writer=True) for kind in CODES)} == (
        decided | UNDECIDED
    )
    assert dead - NEVER_DECIDED == UNDECIDED
    assert kinds.keys() - decided - UNDECIDED == NEVER_DECIDED


def test_every_crash_of_the_diagram_is_in_the_table() -> None:
    (diagram,) = (block for block in blocks_of(PAGE) if block.kind == "mermaid")
    drawn = re.findall(r"^ *Note over .*: crash ([A-Z])$", diagram.body, re.MULTILINE)
    explained = [row[0][2] for row in rows(part("The order of effects")) if row[0].startswith("**")]
    assert drawn == explained == sorted(set(drawn))


def test_every_link_leads_somewhere() -> None:
    wrong = [
        f"{target}#{anchor}"
        for target, anchor in LINK.findall(TEXT)
        if not (page := PAGE.parent / target if target else PAGE).is_file() or (anchor and anchor not in anchors(page))
    ]
    assert wrong == []
    assert LINK.findall(TEXT)
