"""Names that damage has made of known ones: readers ignore unknown names, so a damaged one would silently drop what it names."""

from collections.abc import Collection


def damaged_name(found: Collection[str], known: Collection[str]) -> tuple[str, str] | None:
    """An unknown name, and the known one that it differs from in one letter and that isn't there; None where there is none.

    No writer uses two names that are so close to each other.
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
