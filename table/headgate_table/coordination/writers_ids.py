"""The newest ids of accepted proposals with a writer, so that an id that comes again under another name is recognised.

The seq identifies such a proposal for ever. Its id matters only if it comes again without the writer, or with another
one. So the ids have a small bound of their own, and forgotten ones leave no horizon. Pure.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

MAX_WRITERS_IDS = 2_000
"""So many of the newest. Every state carries them, and a stream that commits each second would fill any bound."""


@dataclass(slots=True)
class WritersIds:
    """Hashes of ids with the version that accepted each, oldest first. The first decision counts."""

    _versions: OrderedDict[bytes, int] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._versions)

    def version_of(self, identity: bytes) -> int | None:
        """The version that accepted the id."""
        return self._versions.get(identity)

    def accept(self, version: int, identities: Iterable[bytes]) -> None:
        for identity in identities:
            self._versions.setdefault(identity, version)
        while len(self._versions) > MAX_WRITERS_IDS:
            self._versions.popitem(last=False)

    def by_version(self) -> Iterator[tuple[int, list[bytes]]]:
        """In the order in which they were accepted."""
        for version, run in groupby(self._versions.items(), key=itemgetter(1)):
            yield version, [identity for identity, _ in run]
