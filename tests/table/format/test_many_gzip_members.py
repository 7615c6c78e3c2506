"""Version files of very many gzip members: read in one pass, and bounded."""

import gzip

import pytest

from headgate_table.errors import CorruptTable
from headgate_table.indextables.format import version_file
from headgate_table.indextables.format.version_file import unpack

_TEXT = bytes(range(32, 127)) * 40_000


def test_every_member_counts_however_they_lie_in_the_steps() -> None:
    """Break: what zlib left unused isn't given back before the next member."""
    members = [gzip.compress(_TEXT[start : start + size], mtime=0) for start, size in ((0, 1), (1, 3_000_000), (9, 99))]
    assert unpack(b"".join(members), "f") == _TEXT[0:1] + _TEXT[1:3_000_001] + _TEXT[9:108]


def test_bytes_behind_the_last_member_are_ignored() -> None:
    assert unpack(gzip.compress(b"text", mtime=0) + b"rest", "f") == b"text"


def test_a_stream_cut_at_any_place_is_refused() -> None:
    data = gzip.compress(_TEXT[:50_000], mtime=0)
    for end in range(2, len(data), 7):
        with pytest.raises(CorruptTable):
            unpack(data[:end], "f")


def test_more_members_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: members aren't counted, and a small file keeps a reader busy for hours."""
    monkeypatch.setattr(version_file, "MAX_GZIP_MEMBERS", 10)
    assert unpack(gzip.compress(b"a", mtime=0) * 10, "f") == b"a" * 10
    with pytest.raises(CorruptTable, match="10 gzip members"):
        unpack(gzip.compress(b"a", mtime=0) * 11, "f")
