"""The findings of the doctor: the checked thing, its state, and the remedy."""

from dataclasses import dataclass
from enum import StrEnum

CLOCKS_DIFFER_S = 30.0
"""Ids that are made so close to the horizon are refused; and cleaning allows for no more than a few minutes."""


class Health(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Nothing is wrong, but something is not there, or is worth a thought."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    check: str
    health: Health
    found: str
    mend: str | None = None


def clock_finding(check: str, ahead_s: float, whose: str) -> DoctorFinding:
    """`ahead_s` is how far the other clock is ahead of this machine's."""
    how = f"{whose} clock is {abs(ahead_s):,.0f} s {'ahead of' if ahead_s > 0 else 'behind'} this machine's"
    if abs(ahead_s) <= CLOCKS_DIFFER_S:
        return DoctorFinding(check, Health.OK, how)
    return DoctorFinding(check, Health.PROBLEM, how, "have both follow a time server (chrony, systemd-timesyncd)")
