"""How a committer on Kafka announces its roots: in its consumer's group metadata, as long as it is a member. Values
only.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Deployment, Topic
from headgate_bus.kafka.address import KafkaAddress

_FOLLOWERS = ".events"
"""Ends the names of groups that follow the events."""


def announcement(roots: Sequence[str]) -> bytes:
    return json.dumps({"roots": sorted(roots)}, separators=(",", ":")).encode()


def groups_of(address: KafkaAddress, listed: Iterable[Mapping[str, Any]]) -> list[str]:
    """The groups of a cluster that may be committers of this bus."""
    names = (str(group["group_id"]) for group in listed)
    return [name for name in names if name.startswith(f"{address.prefix}.")]


def deployments_in(address: KafkaAddress, described: Mapping[str, Any], aside: str) -> list[Deployment]:
    """The announcements of these groups' members, except for one. Raises `BusUnavailable` while a group can't be read."""
    topic, found = address.topic(Topic.PROPOSALS), []
    for name, group in described.items():
        for member in group["members"]:
            if member["member_id"] == aside:
                continue
            told = member["member_metadata"]
            if not isinstance(told, Mapping):
                if name.endswith(_FOLLOWERS):
                    continue
                raise BusUnavailable(f"group {name} is rebalancing, so its announcements can't be read now; try again")
            if topic in told["topics"]:
                found.append(Deployment(name.removeprefix(f"{address.prefix}."), _roots(told.get("user_data"))))
    return found


def _roots(told: object) -> tuple[str, ...] | None:
    try:
        found = json.loads(told) if isinstance(told, str | bytes) and told else None
    except ValueError:
        return None
    roots = found.get("roots") if isinstance(found, dict) else None
    return tuple(map(str, roots)) if isinstance(roots, list) else None
