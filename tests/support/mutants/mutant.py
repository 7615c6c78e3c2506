"""What a mutant is: where it differs from the product, which promise it breaks, and who is expected to notice."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Rule(Enum):
    """The promises: the rules of the commit protocol, the invariants, and what stands beside them. `docs/protocol.md` has a heading
    for each.
    """

    PREDECESSOR = "rule 1: a version counts only if its predecessor stands"
    FOLDING = "rule 2: epochs, folding, and the three outcomes of a write"
    PURGE = "rule 3: a file is deleted only after an accepted purge"
    SEQS = "rule 4: seqs of writers don't expire"
    HORIZON = "rule 5: ids have a horizon"
    SOURCES = "rule 6: positions compare only within one source"
    POINTER = "rule 7: the pointer moves forward only"
    SWAPS = "rule 8: a compaction changes no live entry"
    FLOOR = "rule 9: the copy in the configuration is a floor"
    RECEIPTS = "rule 10: no receipt without a version that holds the decision"
    OUTAGES = "rule 11: a failing store delays its own table alone"
    DECISIONS = "rule 12: the decision table, exactly"
    ORDER = "invariants 1 and 3: each proposal whole, in one version, in the order of the bus"
    STATES = "invariant 4: a state tells what the log tells"
    REWRITES = "invariant 6: a rewrite changes no record"
    CLEANING = "invariant 7: what somebody needs is not deleted"
    STREAMS = "each batch of a stream is committed once"
    ANSWERS = "whatever is proposed is answered, and stops no table"
    CLAIMS = "what lies behind a claim is what was proposed"
    VALUES = "a value is what was written, to every reader and every predicate"
    FITTING = "what is added fits the table's columns"
    DAMAGE = "damage is named, and nothing is made of it"
    MIRRORS = "a mirror tells what its table tells"
    MANIFESTS = "the same promises on Milvus manifests"


@dataclass(frozen=True, slots=True)
class Seeds:
    """Random runs that are tried after the scripted tests, up to so many."""

    kind: str
    """The generator: `log` and `milvus` are simulated histories, `oracle` histories of rows, `damage` damage of each kind,
    `models` the tests that draw their cases."""
    bound: int
    of: str = ""
    """Of `models`: the file whose tests draw so many cases together; of `damage`: the kind of table, each by default."""


LOG = Seeds("log", 150)
MILVUS = Seeds("milvus", 200)
ROWS = Seeds("oracle", 300)
DAMAGE = Seeds("damage", 40)
NONE = Seeds("log", 0)


def models(file: str, bound: int) -> Seeds:
    return Seeds("models", bound, file)


def damage(kind: str, bound: int) -> Seeds:
    return Seeds("damage", bound, kind)


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    rule: Rule
    says: str
    """How it behaves, in a sentence."""
    file: str
    """Whose text is changed, from the root of the tree."""
    find: str
    """Occurs once in it."""
    put: str
    tests: tuple[str, ...] = ()
    """The scripted tests that are expected to notice: files, or tests in them."""
    seeds: Seeds = LOG

    def applied(self, text: str) -> str:
        """The file's text with the bug in it. Raises `ValueError` where it doesn't apply exactly once."""
        count = text.count(self.find)
        if count != 1:
            raise ValueError(f"mutant {self.name}: its text occurs {count} times in {self.file}; name one place")
        return text.replace(self.find, self.put)

    def apply(self, root: Path) -> None:
        place = root / self.file
        place.write_text(self.applied(place.read_text(encoding="utf-8")), encoding="utf-8")
