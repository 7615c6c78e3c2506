"""Counts and latencies in buckets of two seconds, over the last five minutes."""

from headgate.page.rates import BUCKET_MS, BUCKETS, MAX_LATENCIES, RateKind, Rates

NOW = 1_780_000_000_000 // BUCKET_MS * BUCKET_MS


def test_outcomes_are_counted_in_the_bucket_of_their_time() -> None:
    rates = Rates()
    rates.count(RateKind.ACCEPTED, NOW - 1, NOW)
    rates.count(RateKind.ACCEPTED, NOW, NOW)
    rates.count(RateKind.REJECTED, NOW + 1_999, NOW + 1_999)
    rates.count(RateKind.COMMIT, NOW, NOW)
    rates.count(RateKind.DUPLICATE, NOW, NOW)
    assert [row[:5] for row in rates.rows(NOW)] == [[NOW - BUCKET_MS, 0, 1, 0, 0], [NOW, 1, 1, 1, 1]]


def test_what_is_ahead_of_this_clock_counts_as_now_and_what_is_over_not_at_all() -> None:
    rates = Rates()
    rates.count(RateKind.COMMIT, NOW + 3_600_000, NOW)
    rates.count(RateKind.COMMIT, NOW - BUCKETS * BUCKET_MS, NOW)
    assert [row[:2] for row in rates.rows(NOW)] == [[NOW, 1]]


def test_median_and_95th_percentile_are_those_of_the_bucket() -> None:
    rates = Rates()
    for latency in range(100, 0, -1):
        rates.took(latency, NOW, NOW)
    assert rates.rows(NOW)[0][5:7] == [51, 96]


def test_latencies_of_a_bucket_are_bounded_and_never_negative() -> None:
    rates = Rates()
    for _ in range(MAX_LATENCIES):
        rates.took(-5, NOW, NOW)
    rates.took(10_000, NOW, NOW)
    assert rates.rows(NOW)[0][5:7] == [0, 0]


def test_the_highest_lag_of_a_bucket_counts() -> None:
    rates = Rates()
    for undecided in (3, 9, 0):
        rates.lagged(undecided, NOW)
    assert rates.rows(NOW)[0][7] == 9


def test_only_what_changed_is_told_again_and_what_is_over_is_forgotten() -> None:
    rates = Rates()
    rates.count(RateKind.COMMIT, NOW, NOW)
    assert len(rates.changed_rows(NOW)) == 1
    assert rates.changed_rows(NOW) == []
    rates.count(RateKind.COMMIT, NOW, NOW)
    later = NOW + BUCKETS * BUCKET_MS
    assert rates.changed_rows(later) == []
    assert rates.rows(later) == []
