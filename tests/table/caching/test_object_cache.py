"""The memory of immutable objects: bounded, ageing, countable."""

from headgate_table.caching.cache import ObjectCache


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_value_is_found_again_by_table_and_key() -> None:
    cache = ObjectCache(Clock())
    cache.put("t", "k", "value", 1)
    assert cache.get("t", "k") == "value"
    assert cache.get("u", "k") is None
    assert cache.get("t", "l") is None


def test_the_least_recently_used_value_goes_first() -> None:
    cache = ObjectCache(Clock(), max_bytes=10)
    for key in "abc":
        cache.put("t", key, key, 3)
    cache.get("t", "a")
    cache.put("t", "d", "d", 3)
    assert [cache.get("t", key) for key in "abcd"] == ["a", None, "c", "d"]


def test_the_bytes_stay_within_the_bound() -> None:
    cache = ObjectCache(Clock(), max_bytes=100)
    for number in range(50):
        cache.put("t", str(number), number, 30)
        assert cache.statistics().bytes <= 100


def test_a_value_over_half_of_the_bound_is_not_kept() -> None:
    cache = ObjectCache(Clock(), max_bytes=10)
    cache.put("t", "small", 1, 4)
    cache.put("t", "large", 1, 6)
    assert cache.get("t", "large") is None
    assert cache.get("t", "small") == 1


def test_a_value_replaced_counts_its_bytes_once() -> None:
    cache = ObjectCache(Clock())
    cache.put("t", "k", 1, 5)
    cache.put("t", "k", 2, 7)
    assert (cache.get("t", "k"), cache.statistics().bytes) == (2, 7)


def test_a_value_expires() -> None:
    clock = Clock()
    cache = ObjectCache(clock)
    cache.put("t", "k", 1, 1, expiration_s=10)
    clock.now_s = 10
    assert cache.get("t", "k") == 1
    clock.now_s = 11
    assert cache.get("t", "k") is None
    assert cache.statistics().bytes == 0


def test_nothing_is_kept_without_time() -> None:
    cache = ObjectCache(Clock())
    cache.put("t", "k", 1, 1, expiration_s=0)
    assert cache.get("t", "k") is None


def test_invalidation_forgets_one_table_and_tells_what_was() -> None:
    cache = ObjectCache(Clock())
    cache.put("t", "k", 1, 1)
    cache.put("u", "k", 2, 1)
    cache.get("t", "k")
    cache.get("t", "missing")
    before = cache.invalidate("t")
    assert (before.hits, before.misses, before.entries) == (1, 1, 2)
    assert (cache.get("t", "k"), cache.get("u", "k")) == (None, 2)


def test_invalidation_of_all_forgets_all() -> None:
    cache = ObjectCache(Clock())
    cache.put("t", "k", 1, 1)
    cache.put("u", "k", 2, 1)
    cache.invalidate()
    assert cache.statistics().entries == 0
