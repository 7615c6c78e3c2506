"""The order that people see: what was proposed after an answer comes after what was answered, in the versions as in time.

Together with `sequence`, which says that versions are what their decisions make of them one after the other, it means that
every acknowledged operation of a table took effect at one moment between its call and its answer.
"""

from collections.abc import Mapping

from support.simulation.judge.broken import must


def judge_real_time(proposed_after: Mapping[str, int], identity: str, version: int, uri: str) -> None:
    """The version decides this proposal. Raises `InvariantBroken`."""
    before = proposed_after.get(identity, -1)
    must(
        version > before,
        f"{uri} version {version} decides {identity}, which was proposed when somebody had been told of version {before} "
        f"already (real-time order)",
    )
