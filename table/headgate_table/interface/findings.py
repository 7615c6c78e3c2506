"""The result of a verification: findings, counts of the checked objects, and the collector for both."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from headgate_schemas.errors import InvalidInput, MalformedAction
from headgate_table.errors import CorruptTable, ObjectMissing, UnsupportedTable

MAX_FINDINGS = 5_000
"""Of each severity. A report is read by people; what is beyond it is counted."""

_T = TypeVar("_T")


class Severity(Enum):
    ERROR = "error"
    """Some reader can't read a version that is retained, or reads it wrongly."""
    WARNING = "warning"
    """Nothing reads wrongly, but something is not as the format says."""
    NOTE = "note"
    """In order, but good to know: leftovers, what was cleaned up."""


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    object: str
    """The key of the object that it is about, or the version."""
    what: str
    advice: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The number of checked objects of each kind."""

    versions: int
    states: int
    checkpoints: int
    manifests: int
    entries: int
    replayed: int
    """States and checkpoints that were compared with the replay of what came before them."""
    data_files: int
    """Live files that were looked for on the store."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Everything that was checked, and everything that is wrong."""

    uri: str
    version: int
    """The newest version; -1 when it can't be told."""
    findings: tuple[Finding, ...]
    checked: Checked
    errors: int

    @property
    def ok(self) -> bool:
        """Whether there is no error. Warnings and notes don't count."""
        return self.errors == 0

    def of(self, severity: Severity) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is severity]


@dataclass(slots=True)
class Findings:
    """Collects findings, bounded, and the counts."""

    listed: list[Finding] = field(default_factory=list)
    totals: dict[Severity, int] = field(default_factory=lambda: dict.fromkeys(Severity, 0))
    versions: int = 0
    states: int = 0
    checkpoints: int = 0
    manifests: int = 0
    entries: int = 0
    replayed: int = 0
    data_files: int = 0

    def error(self, name: str, what: str, advice: str) -> None:
        self._add(Finding(Severity.ERROR, name, what, advice))

    def warning(self, name: str, what: str, advice: str) -> None:
        self._add(Finding(Severity.WARNING, name, what, advice))

    def note(self, name: str, what: str, advice: str) -> None:
        self._add(Finding(Severity.NOTE, name, what, advice))

    def attempt(self, name: str, work: Callable[[], _T], advice: str) -> _T | None:
        """The result of `work`, or None after damage, which becomes a finding. A failing store still raises."""
        try:
            return work()
        except (CorruptTable, UnsupportedTable, ObjectMissing, InvalidInput, MalformedAction) as error:
            self.error(name, str(error), advice)
            return None

    def report(self, uri: str, version: int) -> VerifyReport:
        listed = list(self.listed)
        for severity, total in self.totals.items():
            if total > MAX_FINDINGS:
                listed.append(
                    Finding(
                        severity, uri, f"{total - MAX_FINDINGS} more like these are not listed", "start with the first"
                    )
                )
        rank = list(Severity)
        listed.sort(key=lambda finding: rank.index(finding.severity))
        checked = Checked(
            self.versions, self.states, self.checkpoints, self.manifests, self.entries, self.replayed, self.data_files
        )
        return VerifyReport(uri, version, tuple(listed), checked, self.totals[Severity.ERROR])

    def _add(self, finding: Finding) -> None:
        self.totals[finding.severity] += 1
        if self.totals[finding.severity] <= MAX_FINDINGS:
            self.listed.append(finding)


def examples(paths: set[str], count: int = 3) -> str:
    """The first few of many, for a message."""
    shown = ", ".join(sorted(paths)[:count])
    return shown if len(paths) <= count else f"{shown} and {len(paths) - count} more"
