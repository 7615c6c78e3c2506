"""The generators that `make attack` runs: each is a program that takes a first seed and a number of cases.

A program exits with 0 where nothing was found and with 1 where something was. It prints a line `replay: COMMAND` for each
failure that it found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_SEED = 1_000_000_000
"""First seeds are drawn below it: large enough never to meet the seeds that tests run, short enough to type."""


@dataclass(frozen=True, slots=True)
class Generator:
    name: str
    tries: str
    """What a case is, in a few words."""
    program: Sequence[str]
    cases: int
    """Of one slice: it takes ten seconds to a minute on one processor."""
    first: str = "--first"
    count: str = "--seeds"
    target: str = ""
    """The target of make that runs the program, with the variables that choose a kind."""
    make_first: str = "FIRST"
    make_count: str = "SEEDS"

    def arguments(self, seed: int) -> list[str]:
        """The program and its arguments, without Python itself."""
        return [*self.program, f"{self.first}={seed}", f"{self.count}={self.cases}"]

    def replay(self, seed: int) -> str:
        """The command that runs the slice again."""
        return f"make {self.target} {self.make_first}={seed} {self.make_count}={self.cases}"


_SIMULATE = "tests/tooling/simulate.py"
_FUZZ = "tests/tooling/fuzz.py"
_ORACLE = "tests/tooling/oracle.py"
_DAMAGE = "tests/tooling/damage.py"
_MODELS = "tests/tooling/models.py"

GENERATORS = (
    Generator(
        "simulation",
        "histories of the coordinator under faults, on logs of versions",
        (_SIMULATE, "--jobs=1", "--kind=log"),
        40,
        target="simulate KIND=log",
    ),
    Generator(
        "simulation-milvus",
        "histories of the coordinator under faults, on Milvus manifests",
        (_SIMULATE, "--jobs=1", "--kind=milvus"),
        60,
        target="simulate KIND=milvus",
    ),
    Generator(
        "oracle",
        "histories of real tables with odd values, against a model of their rows",
        (_ORACLE, "--jobs=1"),
        60,
        target="oracle",
    ),
    Generator(
        "damage",
        "damage to each kind of small table, so many of each kind",
        (_DAMAGE,),
        10,
        first="--seed",
        count="--cases",
        target="damage",
        make_first="SEED",
        make_count="CASES",
    ),
    Generator(
        "models",
        "cases of the tests that draw them, of some files each time",
        (_MODELS,),
        3_000,
        count="--cases",
        target="models",
        make_count="CASES",
    ),
    Generator(
        "messages",
        "mutated messages of the bus",
        (_FUZZ, "--kind=messages"),
        4_000,
        first="--seed",
        count="--files",
        target="fuzz KIND=messages",
        make_first="SEED",
        make_count="FILES",
    ),
    Generator(
        "manifests",
        "mutated Milvus manifests",
        (_FUZZ, "--kind=manifests"),
        8_000,
        first="--seed",
        count="--files",
        target="fuzz KIND=manifests",
        make_first="SEED",
        make_count="FILES",
    ),
)
