"""One history: a table and steps that a seed draws, judged after each. A step left out changes none of the others' draws."""

import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.mirror_readers.here import READERS
from support.mirror_readers.reader import MirrorReader
from support.oracle import by_query, by_rows
from support.oracle.failure import Disagreement
from support.oracle.judge import judge, judge_at_the_end
from support.oracle.mirrored import judge_mirror
from support.oracle.steps import draw_configuration, draw_step
from support.oracle.values.columns import draw_table
from support.oracle.values.draws import draws
from support.oracle.world import World, new_world, quiet

MOST_STEPS = 14
MOST_STEPS_WITH_SPARK = 6


@dataclass(frozen=True, slots=True)
class Played:
    seed: int
    steps: tuple[int, ...]
    """Those that were played, up to the one that failed."""
    done: Mapping[str, int] = field(default_factory=dict)
    kind: str = ""
    """Of the failure, if there was one."""
    failure: str = ""

    @property
    def replay(self) -> str:
        return f"make oracle SEEDS=1 FIRST={self.seed} STEPS={','.join(map(str, self.steps))}"


def play(
    seed: int,
    only: Collection[int] | None = None,
    spark: Any = None,
    readers: Mapping[str, MirrorReader] = READERS,
) -> Played:
    """The history of a seed, or of some of its steps; with a session of Spark, also written and read by it.

    `readers` read the table's mirror.
    """
    with quiet():
        return _played(seed, only, spark, readers)


def _played(seed: int, only: Collection[int] | None, spark: Any, readers: Mapping[str, MirrorReader]) -> Played:
    from support.oracle import by_spark  # PySpark is for those who have a session

    random = draws(seed)
    columns, partition = draw_table(random)
    coordinated = random.random() < 0.45
    configuration = draw_configuration(random)
    misfits = 0.2 if random.random() < 0.4 else 0.0
    steps = [
        index
        for index in range(random.randint(4, MOST_STEPS if spark is None else MOST_STEPS_WITH_SPARK))
        if only is None or index in only
    ]
    played: list[int] = []
    world: World | None = None
    try:
        with new_world(random, columns, partition, configuration, coordinated=coordinated) as world:
            world.misfits = misfits
            for index in steps:
                played.append(index)
                drawn = draws(f"{seed}/{index}")
                if spark is not None and drawn.random() < 0.4:
                    by_spark.append(drawn, world, f"s{index:02d}", spark)
                else:
                    draw_step(drawn)(drawn, world, f"s{index:02d}")
                judge(drawn, world)
                # By numbers of its own, so that the other draws of a seed stay what they were.
                in_and_out = draws(f"{seed}/{index}/rows")
                if in_and_out.random() < 0.25:
                    by_rows.append(in_and_out, world, f"r{index:02d}")
                    judge(in_and_out, world)
                if in_and_out.random() < 0.5:
                    by_rows.judge(in_and_out, world)
                in_sql = draws(f"{seed}/{index}/query")
                if in_sql.random() < 0.5:
                    by_query.judge(in_sql, world)
                if spark is not None:
                    by_spark.judge(drawn, world, spark)
            judge_at_the_end(random, world)
            judge_mirror(draws(f"{seed}/mirror"), world, readers)
    except Disagreement as found:
        assert world is not None
        return Played(seed, tuple(played), dict(world.done), found.kind, _told(world, str(found)))
    except Exception:  # noqa: BLE001 - whatever a history raises is a finding
        return Played(
            seed,
            tuple(played),
            dict(world.done if world else {}),
            "crash",
            _told(world, traceback.format_exc(limit=-8)),
        )
    return Played(seed, tuple(played), dict(world.done))


def _told(world: World | None, failure: str) -> str:
    return "\n".join([*(world.log if world else ()), failure])


def shrink(failed: Played, spark: Any = None, most: int = 60) -> Played:
    """The same kind of failure with fewer steps."""
    best = failed
    for index in reversed(failed.steps[:-1]):
        if most <= 0:
            break
        most -= 1
        shorter = play(failed.seed, [step for step in best.steps if step != index], spark)
        if shorter.kind == failed.kind:
            best = shorter
    return best
