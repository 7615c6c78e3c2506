"""Recognises whether the log at an address is still the one that was read before.

Files of a log never change, but a table can be dropped and another one created in its place, with the same numbers. So
the process compares the remembered size and time of a version file with the present listing.
"""

from collections.abc import Sequence

from headgate_schemas.logs import get_logger
from headgate_table.caching.resources import ReadResources
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.log.listing import LogListing
from headgate_table.store.interface import ObjectInfo

_log = get_logger("headgate.log")

_INFO_BYTES = 500
"""What remembering how one file looked costs, roughly."""


def is_same(known: ObjectInfo, seen: ObjectInfo) -> bool:
    return known.size == seen.size and known.etag in ("", seen.etag)


class LogIdentity:
    """The remembered look of one table's version files, kept beside its cached objects."""

    def __init__(self, uri: str, resources: ReadResources) -> None:
        self._uri = uri
        self._resources = resources

    def saw(self, info: ObjectInfo) -> None:
        """A listing contained a version file."""
        self._resources.remember(self._uri, _seen_key(info.key), info, _INFO_BYTES)

    def wrote(self, version: int, size: int) -> None:
        """This process wrote a version file; until a listing shows it, only its size is known."""
        self.saw(ObjectInfo(version_key(version), size, 0, ""))

    def read(self, version: int, size: int) -> None:
        """A version file was read. If a listing has shown it, the listing's values count."""
        if self._resources.cache.peek(self._uri, _seen_key(version_key(version))) is None:
            self.wrote(version, size)

    def check(self, listing: LogListing, versions: Sequence[int]) -> bool:
        """Whether all of these version files look as before; from now on the new values are remembered."""
        infos = [info for version in versions if (info := listing.version_objects.get(version)) is not None]
        known = [self._resources.cache.peek(self._uri, _seen_key(info.key)) for info in infos]
        same = all(before is None or is_same(before, info) for before, info in zip(known, infos, strict=True))
        if not same:
            self.forget()
        for info in infos:
            self.saw(info)
        return same

    def forget(self) -> None:
        """Forget everything about the table."""
        _log.warning("table_was_replaced", table=self._uri)
        self._resources.invalidate(self._uri)


def _seen_key(key: str) -> str:
    return f"{key}#seen"
