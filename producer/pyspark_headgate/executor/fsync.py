"""Makes local files survive a power cut. Needs the standard library alone."""

import os


def make_durable(path: str) -> None:
    """Sync the file, and its name in its folder."""
    for place in (path, os.path.dirname(path)):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
