"""The disk of the torture: full for everybody at once, and roomy again, without losing what lies there."""

import errno
from pathlib import Path

import pytest

from support.torture.stage.small_disk import LEFT_BYTES, small_disk

MEBIBYTE = bytes(1 << 20)


def test_a_full_disk_refuses_what_a_roomy_one_takes(tmp_path: Path) -> None:
    """Where nothing may be mounted, there is no disk that could be full, and the folder is one like any other."""
    with small_disk(tmp_path / "disk") as disk:
        kept, more = tmp_path / "disk/kept", tmp_path / "disk/more"
        kept.write_bytes(MEBIBYTE)
        if disk is not None:
            disk.fill()
            with pytest.raises(OSError) as caught:
                more.write_bytes(MEBIBYTE)
            assert caught.value.errno == errno.ENOSPC
            assert more.stat().st_size <= LEFT_BYTES
            disk.make_room()
        more.write_bytes(MEBIBYTE)
        assert kept.read_bytes() == more.read_bytes() == MEBIBYTE
