"""Where random numbers come from: a generator of its own for everything that has a name, the same in every run."""

from random import Random


def draws(name: object) -> Random:
    return Random(f"oracle/{name}")
