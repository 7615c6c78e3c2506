"""Runs of the damage generator: which cases, in which order, and what came of them."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from support.damage import milvus
from support.damage.damages import Damage, damages, name_at
from support.damage.judge import Verdict, judge
from support.damage.kinds import KINDS, objects_named
from support.damage.objects import Objects

ALL_KINDS: tuple[str, ...] = (*(kind.name for kind in KINDS), *milvus.KINDS)

_NAMES = 3
"""How much oftener than other damage: there are dozens of names, and each matters in its own way."""


@dataclass(slots=True)
class Tally:
    """`outcomes` by way and outcome; `problems` are broken promises, each with what replays it."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return self.outcomes.total()


def judged(kind: str, damage: Damage) -> Verdict:
    """One case. Whatever comes out but a verdict is a broken promise, too."""
    try:
        return milvus.judge_manifest(kind, damage) if kind in milvus.KINDS else judge(kind, damage)
    except Exception as error:  # noqa: BLE001  # whatever comes out is what is looked for
        return Verdict("broken", (f"{kind} {damage}: {type(error).__name__} without a name: {error}",))


def all_damages(kind: str) -> list[Damage]:
    return list(damages(_objects(kind)))


def _objects(kind: str) -> Objects:
    return milvus.manifests_named(kind) if kind in milvus.KINDS else objects_named(kind)


def drawn(kind: str, seed: int) -> Iterator[Damage]:
    """Cases of one kind without end, every way as often as any other, but names oftener; of them, every name as often."""
    draw = random.Random(f"{kind}/{seed}")
    objects = _objects(kind)
    by_way: defaultdict[str, defaultdict[str, list[Damage]]] = defaultdict(lambda: defaultdict(list))
    for damage in damages(objects):
        by_way[damage.way][name_at(objects, damage)].append(damage)
    ways = [*sorted(by_way), *(["name"] * (_NAMES - 1) if "name" in by_way else [])]
    while True:
        by_name = by_way[draw.choice(ways)]
        yield draw.choice(by_name[draw.choice(sorted(by_name))])


def run(kind: str, cases: Sequence[Damage], tally: Tally) -> None:
    for damage in cases:
        verdict = judged(kind, damage)
        tally.outcomes[damage.way, verdict.outcome] += 1
        tally.problems.extend(verdict.problems)
