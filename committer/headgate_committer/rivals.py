"""Rival deployments: two groups on one bus, or two sets of roots in one group, would contradict each other. Pure."""

from collections.abc import Iterable

from headgate_bus.interface import Deployment


def rivalry(mine: Deployment, others: Iterable[Deployment], bus: str) -> str | None:
    """The reason why this committer may not begin; None where it may. Members of its group that don't tell their roots, as during
    an upgrade, count as having the same."""
    for other in others:
        if other.group != mine.group:
            return (
                f"group {mine.group} of this committer can't begin on {bus}: committers of group {other.group}, which serve "
                f"{_served(other.roots)}, decide everything that is proposed there. Stop them first, or start this one with "
                f"--group {other.group} and the same roots, or on a bus of its own"
            )
        if other.roots is not None and set(other.roots) != set(mine.roots or ()):
            return (
                f"this committer, which serves {_served(mine.roots)}, can't begin on {bus}: another of its group {mine.group} "
                f"serves {_served(other.roots)}. Give all committers of a group the same roots; to change them, stop all first"
            )
    return None


def _served(roots: tuple[str, ...] | None) -> str:
    if roots is None:
        return "tables that they don't tell"
    return f"tables below {', '.join(roots)}" if roots else "all tables"
