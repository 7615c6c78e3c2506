"""Measures as Prometheus reads them: sums are right, names and labels are the catalogue's, and nothing else gets in."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headgate.health.measuring import PrometheusMeasures
from headgate_schemas.measures import Histogram
from headgate_schemas.metrics import (
    BUILD_INFO,
    CATALOGUE,
    COMMIT_SECONDS,
    DEAD_LETTERS,
    GROUP_PROPOSALS,
    LIBRARY_METRICS,
    PARTITIONS_HELD,
    PROPOSALS_RECEIVED,
    STORE_REQUEST_SECONDS,
    THREADS,
    VERSIONS_WRITTEN,
)
from support.ambient import FakeAmbient


def samples(measures: PrometheusMeasures) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(measures.text().decode())
        for sample in family.samples
    }


def value(measures: PrometheusMeasures, name: str, **labels: str) -> float | None:
    return samples(measures).get((name, frozenset(labels.items())))


@pytest.fixture
def measures() -> PrometheusMeasures:
    return PrometheusMeasures(FakeAmbient())


def test_counts_add_up_by_their_labels(measures: PrometheusMeasures) -> None:
    measures.count(DEAD_LETTERS, "unreadable")
    measures.count(DEAD_LETTERS, "unreadable", by=4)
    measures.count(DEAD_LETTERS, "over_bound")
    assert value(measures, "headgate_dead_letters_total", code="unreadable") == 5
    assert value(measures, "headgate_dead_letters_total", code="over_bound") == 1


def test_a_counter_without_labels_is_0_before_it_is_counted(measures: PrometheusMeasures) -> None:
    """An increase can be seen only from something."""
    assert value(measures, PROPOSALS_RECEIVED.name) == 0


def test_a_gauge_is_what_it_was_set_to_last(measures: PrometheusMeasures) -> None:
    measures.set(PARTITIONS_HELD, 3, "worker")
    measures.set(PARTITIONS_HELD, 2, "worker")
    assert value(measures, "headgate_partitions_held", process="worker") == 2


def test_a_histogram_counts_a_value_in_its_bucket_and_all_above(measures: PrometheusMeasures) -> None:
    measures.observe(GROUP_PROPOSALS, 3)
    measures.observe(GROUP_PROPOSALS, 5, times=10)
    measures.observe(GROUP_PROPOSALS, 100_000)
    found = {le: value(measures, "headgate_group_proposals_bucket", le=le) for le in ("2.0", "5.0", "5000.0", "+Inf")}
    assert found == {"2.0": 0, "5.0": 11, "5000.0": 11, "+Inf": 12}
    assert value(measures, "headgate_group_proposals_sum") == 100_053
    assert value(measures, "headgate_group_proposals_count") == 12


def test_timing_observes_how_long_a_block_takes() -> None:
    ambient = FakeAmbient()
    measures = PrometheusMeasures(ambient)
    with measures.timing(COMMIT_SECONDS):
        ambient.advance(seconds=2)
    assert value(measures, "headgate_commit_seconds_sum") == 2


def test_a_block_that_raises_is_not_timed(measures: PrometheusMeasures) -> None:
    with pytest.raises(KeyError), measures.timing(COMMIT_SECONDS):
        raise KeyError
    assert value(measures, "headgate_commit_seconds_count") is None


@pytest.mark.parametrize("labels", [(), ("no_such_code",), ("unreadable", "too many")])
def test_a_label_outside_of_its_bound_is_a_defect(measures: PrometheusMeasures, labels: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError, match="headgate_dead_letters_total"):
        measures.count(DEAD_LETTERS, *labels)
    with pytest.raises(AssertionError, match="headgate_store_request_seconds"):
        measures.observe(STORE_REQUEST_SECONDS, 1.0, *labels)


def test_a_metric_that_is_not_in_the_catalogue_cannot_be_measured(measures: PrometheusMeasures) -> None:
    with pytest.raises(KeyError):
        measures.observe(Histogram("headgate_stray_seconds", "Nobody knows it", buckets=(1.0,)), 1.0)


def test_a_value_from_elsewhere_is_counted_as_other() -> None:
    [operations] = VERSIONS_WRITTEN.labels
    assert (operations.nearest("Append"), operations.nearest("Truncate")) == ("Append", "other")


def test_the_format_has_every_metric_of_the_catalogue_with_its_kind_and_help(measures: PrometheusMeasures) -> None:
    families = {family.name: family for family in text_string_to_metric_families(measures.text().decode())}
    for metric in CATALOGUE:
        family = families[metric.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (type(metric).__name__.lower(), metric.help)


def test_the_process_itself_is_measured(measures: PrometheusMeasures) -> None:
    found = {name for name, _ in samples(measures)}
    assert {*LIBRARY_METRICS, BUILD_INFO, THREADS.name} <= found


def test_gauges_of_the_moment_are_set_when_the_metrics_are_read(measures: PrometheusMeasures) -> None:
    asked = iter((1, 2))
    measures.before_reading(lambda: measures.set(PARTITIONS_HELD, next(asked), "committer"))
    assert [value(measures, "headgate_partitions_held", process="committer") for _ in range(2)] == [1, 2]


def test_two_processes_in_one_have_registries_of_their_own() -> None:
    one, other = PrometheusMeasures(FakeAmbient()), PrometheusMeasures(FakeAmbient())
    one.count(PROPOSALS_RECEIVED)
    assert value(other, PROPOSALS_RECEIVED.name) == 0
