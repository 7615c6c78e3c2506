"""The common parts of all long-running processes' settings: names, hints for misspelt ones, and parsing."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from headgate.settings.health_limits import HealthLimits
from headgate.settings.listen_address import ListenAddress, listen_address
from headgate_schemas.errors import InvalidInput

MAX_ROOTS = 1_000
"""Addresses in one setting."""
_MOST = 2**53
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


HEALTH_LIMITS = {found.name.replace("_", "-"): found.name for found in fields(HealthLimits)}
"""From the setting (`late-after-ms`) to the field."""


class LogForm(StrEnum):
    """The form of a long-running process's events."""

    AUTO = "auto"
    """For people on a terminal, else as JSON."""
    CONSOLE = "console"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ProcessKeys:
    """The settings of one kind of process. Every method raises `InvalidInput`, naming the fault."""

    process: str
    """As its command is called."""
    keys: tuple[str, ...]

    def layered(self, layers: Iterable[Mapping[str, str]]) -> dict[str, str]:
        """The texts from several sources by key; later ones override earlier ones."""
        given: dict[str, str] = {}
        for layer in layers:
            given |= {self.key(name): text for name, text in layer.items()}
        return given

    def key(self, given: str) -> str:
        """The setting's name, with any separator between its words."""
        key = given.strip().lower().replace("_", "-").replace(".", "-").removeprefix(f"{self.process}-")
        if key in self.keys:
            return key
        hint = near_or_all(key, self.keys)
        raise InvalidInput(f"there is no setting {given!r} of the {self.process}. {hint}")

    def bounds(self, given: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
        """Whole numbers; `names` maps keys to fields."""
        return {names[key]: self.number(key, text) for key, text in given.items() if key in names}

    def number(self, key: str, text: str, least: int = 1) -> int:
        bare = text.strip().replace("_", "")
        if not (bare.isascii() and bare.isdigit() and len(bare) < 17 and least <= int(bare) <= _MOST):
            raise self._wrong(key, text, f"a whole number from {least} to {_MOST}")
        return int(bare)

    def seconds(self, key: str, text: str) -> float:
        bare = text.strip().replace("_", "")
        if not _SECONDS.fullmatch(bare) or not float(bare):
            raise self._wrong(key, text, "seconds above 0, such as 120 or 0.5")
        return float(bare)

    def word(self, key: str, text: str) -> str:
        if not (0 < len(text) <= 200 and text.isascii() and text.isprintable() and " " not in text):
            raise self._wrong(key, text, "1 to 200 visible ASCII characters")
        return text

    def log_form(self, key: str, text: str) -> LogForm:
        try:
            return LogForm(text.strip().lower())
        except ValueError:
            known = ", ".join(form.value for form in LogForm)
            raise self._wrong(key, text, f"one of {known}") from None

    def addresses(self, key: str, text: str) -> tuple[str, ...]:
        """Addresses with commas between them."""
        found = tuple(parts(text))
        if text.strip() and not found:
            # Taking it for none could mean to serve every table.
            raise self._wrong(key, text, "addresses with commas between them, or nothing at all")
        if len(found) > MAX_ROOTS:
            raise InvalidInput(
                f"{key} are {len(found)}, more than the {MAX_ROOTS} that a {self.process} takes (MAX_ROOTS)"
            )
        return found

    def listen(self, text: str) -> ListenAddress | None:
        """None for an empty text or `none`."""
        return None if text.strip().lower() in ("", "none") else listen_address(text)

    def health(self, given: Mapping[str, str], defaults: HealthLimits) -> HealthLimits:
        return replace(defaults, **self.bounds(given, HEALTH_LIMITS))

    def pairs(self, key: str, text: str) -> dict[str, str]:
        """`name=value` with commas between them."""
        found: dict[str, str] = {}
        for part in parts(text):
            name, equals, value = part.partition("=")
            if not (equals and name.strip()):
                raise self._wrong(key, text, "name=value, with commas between them")
            found[name.strip()] = value.strip()
        return found

    def chosen(self, key: str, text: str, known: Collection[str], what: str) -> tuple[str, ...]:
        """Names from `known`, in that order, with commas between them; `none` for none."""
        if text.strip().lower() == "none":
            return ()
        given = parts(text)
        by_letters = {name.lower(): name for name in known}
        for name in given:
            if name.lower() not in by_letters:
                hint = near_or_all(name.lower(), list(by_letters), known)
                raise InvalidInput(f"the setting {key} of the {self.process} has {name!r}, which is no {what}. {hint}")
        if not given:
            raise self._wrong(key, text, f"names with commas between them, or none; known are {', '.join(known)}")
        wanted = {name.lower() for name in given}
        return tuple(name for name in known if name.lower() in wanted)

    def _wrong(self, key: str, text: str, takes: str) -> InvalidInput:
        return InvalidInput(f"the setting {key} of the {self.process} is {text!r}; it takes {takes}")


def parts(text: str) -> list[str]:
    """The items between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def near_or_all(given: str, known: Sequence[str], shown: Collection[str] = ()) -> str:
    """The suggestion for an error: the nearest of these names, else all of them."""
    near = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(shown or known)}"
