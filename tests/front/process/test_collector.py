"""A long-running process leaves what it loaded at the start out of full collections, and nothing for ever."""

import gc

from headgate.process.gc_tuning import FREEZES, sparing_collector


def test_what_is_loaded_is_left_out_of_full_collections_until_the_end() -> None:
    before = gc.get_freeze_count()
    with sparing_collector():
        gc.collect()
        assert gc.get_freeze_count() > before
    assert gc.get_freeze_count() == 0


def test_only_the_first_full_collections_count() -> None:
    with sparing_collector():
        for _ in range(FREEZES):
            gc.collect()
        frozen = gc.get_freeze_count()
        kept = [{"a": [number]} for number in range(1_000)]
        gc.collect()
        assert gc.get_freeze_count() <= frozen  # some of it is let go meanwhile
    assert len(kept) == 1_000


def test_collections_of_the_young_freeze_nothing() -> None:
    with sparing_collector():
        gc.collect(0)
        gc.collect(1)
        assert gc.get_freeze_count() == 0
