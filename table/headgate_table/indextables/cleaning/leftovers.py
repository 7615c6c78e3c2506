"""Files of killed local writers that nobody can be writing any more."""

from headgate_table.indextables.cleaning.plan import HOUR_MS, Category, Deletion
from headgate_table.store.local.leftovers import LocalLeftovers


def expired_temporaries(found: LocalLeftovers, youngest_ms: int, now_ms: int) -> list[Deletion]:
    """The files that were last written before that time. No log can name them, so they need no purge."""
    return [
        Deletion(
            info.key,
            info.size,
            Category.TEMPORARY,
            f"its writer was killed, or has not written to it for {(now_ms - info.modified_ms) // HOUR_MS} hours",
        )
        for info in found.temporaries
        if info.modified_ms < youngest_ms
    ]
