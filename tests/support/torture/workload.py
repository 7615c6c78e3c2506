"""What a producer proposes at each of its steps: a function of seed, name and step, so that it can be proposed again."""

from dataclasses import dataclass
from random import Random
from typing import Protocol

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.operations import Append, Delete, Operation, Overwrite, Writer

PARTS = ("a", "b", "c", "d")
COLUMNS = "id BIGINT, part STRING"


@dataclass(frozen=True, slots=True)
class Planned:
    operation: Operation
    writer: Writer | None = None


class Work(Protocol):
    """What one producer does."""

    def planned(self, step: int) -> Planned:
        """The same whenever it is asked."""
        ...

    def provide(self, step: int) -> None:
        """Make what the step's proposal names. Safe to repeat."""
        ...


@dataclass(frozen=True, slots=True)
class Names:
    """Proposals that name files which nobody has written."""

    seed: int
    name: str

    def planned(self, step: int) -> Planned:
        return planned(self.seed, self.name, step)

    def provide(self, step: int) -> None:
        """Nothing: nobody reads these files."""


def planned(seed: int, name: str, step: int) -> Planned:
    """The step's proposal. Some are to be rejected, and what becomes of others depends on who came before."""
    draw = Random(f"{seed}/{name}/{step}")
    writer = Writer(name, step)
    part = draw.choice(PARTS)
    match draw.choices(
        ("append", "with seq", "overwrite", "delete", "used path", "no partition", "seq refused", "replace with seq"),
        (40, 20, 8, 10, 7, 5, 5, 5),
    )[0]:
        case "append":
            return Planned(Append(tuple(_file(name, step, part, each) for each in range(draw.randint(1, 3)))))
        case "with seq":
            return Planned(Append((_file(name, step, part),)), writer)
        case "overwrite":
            return Planned(Overwrite((_file(name, step, part),), f"part = '{part}'"))
        case "delete":
            return Planned(Delete(_early_paths(draw, seed, name, step)))
        case "used path":
            paths = _early_paths(draw, seed, name, step)
            return Planned(Append(tuple(AddFile(path, {"part": path[5]}, 100, 1) for path in paths)))
        case "no partition":
            return Planned(Append((AddFile(f"{name}-{step}-astray.parquet", {}, 100, 1),)))
        case "seq refused":
            return Planned(Delete((f"part={part}/{name}-{step}-never.parquet",)), writer)
        case _:
            return Planned(Overwrite((_file(name, step, part),), f"part = '{part}'"), writer)


def _file(name: str, step: int, part: str, number: int = 0) -> AddFile:
    return AddFile(f"part={part}/{name}-{step}-{number}.parquet", {"part": part}, 100 + step % 1000, 1, num_records=10)


def _early_paths(draw: Random, seed: int, name: str, step: int) -> tuple[str, ...]:
    """Of an earlier step of the same producer, what it adds; a path that never was where there is no such step."""
    for _ in range(20):
        if step and (earlier := draw.randrange(max(0, step - 30), step)) >= 0:
            operation = _plain(seed, name, earlier)
            if operation:
                return operation
    return (f"part=a/{name}-{step}-never.parquet",)


def _plain(seed: int, name: str, step: int) -> tuple[str, ...]:
    """The paths that a plain append of that step adds; nothing for steps of another kind."""
    draw = Random(f"{seed}/{name}/{step}")
    part = draw.choice(PARTS)
    if draw.random() < 0.4:
        return tuple(_file(name, step, part, each).path for each in range(draw.randint(1, 3)))
    return ()
