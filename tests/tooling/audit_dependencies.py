"""Whether anything that is pinned in requirements/ has a known hole, as `make lint` asks. 1 for one that is not accepted.

A source that doesn't answer is said aloud, and fails nothing: a network is no defect of the tree.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from headgate_schemas.ambient import SystemAmbient
from support.servers.tool_cache import cache_folder  # found by the line above

ROOT = Path(__file__).resolve().parents[2]
ACCEPTED = "accepted-holes.toml"
FRESH_MS = 24 * 3_600_000
"""What was found clean is not asked about again for a day: sources learn of holes by the day, and lint runs by the minute."""
PROBED = 3
"""Pins that a source is tried with first. One that knows none of them answers nothing, however politely."""
SOCKET_S = 5
WHOLE_S = 180
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", re.MULTILINE)


class Misused(Exception):
    """What the audit was given can't be used; the message says what."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A known vulnerability of one pin, by all of its names."""

    package: str
    version: str
    names: tuple[str, ...]
    mended_in: tuple[str, ...]

    def __str__(self) -> str:
        mended = f"mended in {', '.join(self.mended_in)}" if self.mended_in else "no version mends it yet"
        return f"{self.package} {self.version}: {', '.join(self.names)}; {mended}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A hole that we live with until a day."""

    id: str
    package: str
    reason: str
    until: date

    def covers(self, hole: Hole) -> bool:
        return self.id in hole.names and self.package == hole.package


@dataclass(frozen=True, slots=True)
class Answered:
    """What a source said; `unknown` are pins that it has never heard of."""

    holes: tuple[Hole, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoAnswer:
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """One that pip-audit knows how to ask."""

    name: str
    options: tuple[str, ...]


SOURCES = (Source("pypi", ("-s", "pypi")), Source("osv", ("-s", "osv")))


def pins_of(texts: Iterable[str]) -> list[str]:
    """Every `name==version`, once, whatever platforms and Pythons it is for."""
    return sorted({f"{name}=={version}" for text in texts for name, version in _PIN.findall(text)})


def read_accepted(text: str) -> list[Accepted]:
    """Raises `Misused`."""
    try:
        entries = tomllib.loads(text).get("accepted", [])
        return [Accepted(**entry) for entry in entries if _is_whole(entry)]
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise Misused(f"{ACCEPTED} can't be read: {error}") from None


def _is_whole(entry: Mapping[str, Any]) -> bool:
    wanted = {"id": str, "package": str, "reason": str, "until": date}
    wrong = [name for name, kind in wanted.items() if not isinstance(entry.get(name), kind) or not entry[name]]
    if wrong or set(entry) - set(wanted):
        raise Misused(f"{ACCEPTED}: {dict(entry)} needs id, package, reason and until (a date), and nothing else")
    return True


def expired(accepted: Iterable[Accepted], today: date) -> list[Accepted]:
    return [entry for entry in accepted if entry.until < today]


def read_report(text: str) -> Answered | NoAnswer:
    """pip-audit's report. One that skips every pin is no answer: some mirrors of an index know no vulnerabilities."""
    dependencies = json.loads(text)["dependencies"]
    unknown = tuple(found["name"] for found in dependencies if "skip_reason" in found)
    if len(unknown) == len(dependencies):
        return NoAnswer("it knows none of the pinned versions, so it can't tell of their holes")
    holes = [
        Hole(found["name"], found["version"], (hole["id"], *hole["aliases"]), tuple(hole["fix_versions"]))
        for found in dependencies
        for hole in found.get("vulns", ())
    ]
    return Answered(tuple(holes), unknown)


def ask(source: Source, pins: Sequence[str], cache: Path) -> Answered | NoAnswer:
    """First about a few, then about all."""
    rounds = _each_name_once(pins)
    probed = _ask(source, rounds[0][:PROBED], cache)
    if isinstance(probed, NoAnswer):
        return probed
    answers = [_ask(source, names, cache) for names in rounds]
    silent = [answer for answer in answers if isinstance(answer, NoAnswer)]
    if silent:
        return silent[0]
    given = [answer for answer in answers if isinstance(answer, Answered)]
    return Answered(
        tuple(hole for answer in given for hole in answer.holes),
        tuple(name for answer in given for name in answer.unknown),
    )


def _each_name_once(pins: Sequence[str]) -> list[list[str]]:
    """pip-audit takes one version of each package at a time; other Pythons may have another."""
    rounds: list[dict[str, str]] = []
    for pin in pins:
        name = pin.partition("==")[0]
        place = next((taken for taken in rounds if name not in taken), None)
        if place is None:
            rounds.append(place := {})
        place[name] = pin
    return [list(taken.values()) for taken in rounds]


def _ask(source: Source, pins: Sequence[str], cache: Path) -> Answered | NoAnswer:
    options = ["--timeout", str(SOCKET_S), "--cache-dir", str(cache / "answers"), *source.options]
    try:
        done = _pip_audit(pins, options)
    except subprocess.TimeoutExpired:
        return NoAnswer(f"it took more than {WHOLE_S} s")
    if done.returncode in (0, 1) and done.stdout.strip():
        return read_report(done.stdout)
    # An audit that is broken must not pass for a silent source: without the network, it has to work.
    rehearsed = _pip_audit(pins, ["--dry-run"])
    if rehearsed.returncode != 0:
        raise Misused(f"pip-audit can't be run: {_last_line(rehearsed.stderr)}")
    return NoAnswer(_last_line(done.stderr))


def _pip_audit(pins: Sequence[str], options: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    with tempfile.NamedTemporaryFile("w", prefix="audit-", suffix=".txt") as file:
        file.write("".join(f"{pin}\n" for pin in pins))
        file.flush()
        fixed = ["-f", "json", "--no-deps", "--disable-pip", "--progress-spinner", "off", "-r", file.name]
        command = [sys.executable, "-m", "pip_audit", *fixed, *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=WHOLE_S, check=False)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1][:300]


def audit(requirements: Path, sources: Sequence[Source], cache: Path, now_ms: int) -> int:
    """Raises `Misused`."""
    texts = {path.name: path.read_text() for path in sorted(requirements.iterdir())}
    accepted = read_accepted(texts.pop(ACCEPTED, ""))
    over = expired(accepted, datetime.fromtimestamp(now_ms / 1000, UTC).date())
    for entry in over:
        _say(f"{entry.id} of {entry.package} was accepted until {entry.until} only ({entry.reason}): mend it now")
    pins = pins_of(texts.values())
    digest = hashlib.sha256(json.dumps([pins, list(map(str, accepted)), list(map(str, sources))]).encode()).hexdigest()
    clean = cache / f"clean-{digest[:32]}"
    if not over and clean.exists() and now_ms - int(clean.read_text()) < FRESH_MS:
        _say(f"{len(pins)} pins have no known hole, as a source said within the last day")
        return 0
    silent: list[str] = []
    for source in sources:
        match ask(source, pins, cache):
            case NoAnswer(reason):
                silent.append(f"{source.name} ({reason})")
            case Answered() as answer:
                left = _tell(answer, accepted, source, len(pins))
                if not left and not over:
                    cache.mkdir(parents=True, exist_ok=True)
                    clean.write_text(str(now_ms))
                return 1 if left or over else 0
    _say("!" * 100)
    _say("THE DEPENDENCIES WERE NOT AUDITED: no source of known vulnerabilities answers from here.")
    for reason in silent:
        _say(f"  {reason}")
    _say(
        "This fails nothing, and proves nothing either. Run it where one answers: python tests/tooling/audit_dependencies.py"
    )
    _say("!" * 100)
    return 1 if over else 0


def _tell(answer: Answered, accepted: Sequence[Accepted], source: Source, count: int) -> list[Hole]:
    """Say what was found; the holes that nobody has accepted."""
    if answer.unknown:
        _say(f"{source.name} knows nothing of {', '.join(answer.unknown)}")
    left = []
    for hole in answer.holes:
        entry = next((entry for entry in accepted if entry.covers(hole)), None)
        if entry is None:
            left.append(hole)
            _say(
                f"known hole in {hole}. Pin another version (make requirements), or accept it in requirements/{ACCEPTED}"
            )
        else:
            _say(f"accepted until {entry.until}: {hole} ({entry.reason})")
    for entry in accepted:
        if not any(entry.covers(hole) for hole in answer.holes):
            _say(
                f"{entry.id} of {entry.package} is accepted, but is no hole of what is pinned: take it out of {ACCEPTED}"
            )
    if not left:
        _say(f"{count} pins have no known hole that isn't accepted, says {source.name}")
    return left


def _say(text: str) -> None:
    sys.stderr.write(f"audit: {text}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requirements", type=Path, default=ROOT / "requirements", help="the folder of the pins")
    parser.add_argument("--cache", type=Path, default=cache_folder().parent / "audit", help="the folder of answers")
    parser.add_argument("--osv-url", help="ask this source alone, in the manner of OSV")
    asked = parser.parse_args(arguments)
    sources: Sequence[Source] = SOURCES
    if asked.osv_url is not None:
        sources = (Source(asked.osv_url, ("-s", "osv", "--osv-url", asked.osv_url)),)
    try:
        return audit(asked.requirements, sources, asked.cache, SystemAmbient().now_ms())
    except Misused as error:
        _say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
