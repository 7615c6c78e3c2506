"""Finds damaged names: readers ignore unknown names, so a damaged known name would silently drop its value."""

from collections.abc import Collection


def damaged_name(found: Collection[str], known: Collection[str]) -> tuple[str, str] | None:
    """An unknown name, and the missing known name that differs from it in one letter; None if there is no such pair.

    No writer uses two names that are so similar.
    """
    for name in found:
        if name in known:
            continue
        for wanted in known:
            if wanted not in found and _differ_in_one_letter(name, wanted):
                return name, wanted
    return None


def _differ_in_one_letter(one: str, other: str) -> bool:
    return len(one) == len(other) > 2 and sum(a != b for a, b in zip(one, other, strict=True)) == 1
