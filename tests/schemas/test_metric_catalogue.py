"""The catalogue of metrics: names as Prometheus has them, bounded labels, and the same words as the rooms use."""

import re
from typing import get_args

import pytest

from headgate_schemas.measures import OTHER, SILENT, Counter, Gauge, Histogram, Metric
from headgate_schemas.messages.operations import Operation
from headgate_schemas.metrics import (
    BY_NAME,
    CATALOGUE,
    CLEANED_OBJECTS,
    COMMIT_SECONDS,
    PARTITIONS_HELD,
    PROPOSALS_RECEIVED,
    ROLE,
    VERSIONS_WRITTEN,
)
from headgate_table.indextables.cleaning.plan import Category
from headgate_worker.serving import ROLES

MOST_SERIES = 100
"""Of one metric, its buckets aside."""


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_a_metric_is_named_as_prometheus_would_have_it(metric: Metric) -> None:
    assert re.fullmatch(r"headgate(_[a-z]+)+", metric.name)
    assert metric.name.endswith("_total") == isinstance(metric, Counter)
    assert not re.search(r"_(ms|kb|mb|percent|count|sum|bucket)\b", metric.name)
    assert metric.help
    assert not metric.help.endswith(".")


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_the_number_of_series_is_bounded(metric: Metric) -> None:
    series = 1
    for label in metric.labels:
        assert re.fullmatch(r"[a-z]+", label.name)
        assert len(set(label.values)) == len(label.values) > 1
        series *= len(label.values)
    assert series <= MOST_SERIES


@pytest.mark.parametrize("metric", [each for each in CATALOGUE if isinstance(each, Histogram)], ids=lambda m: m.name)
def test_buckets_grow(metric: Histogram) -> None:
    assert 5 <= len(metric.buckets) <= 16
    assert list(metric.buckets) == sorted(set(metric.buckets))


def test_no_name_is_taken_twice() -> None:
    assert len(BY_NAME) == len(CATALOGUE)


def test_no_metric_names_tables() -> None:
    assert [metric.name for metric in CATALOGUE for label in metric.labels if label.name in ("table", "uri")] == []


def test_roles_operations_and_categories_are_those_of_the_rooms() -> None:
    assert set(ROLE.values) == {*ROLES, OTHER}
    [operation] = VERSIONS_WRITTEN.labels
    assert set(operation.values) == {*(kind.__name__ for kind in get_args(Operation)), "Group", "Reject", OTHER}
    [category] = CLEANED_OBJECTS.labels
    assert set(category.values) == {category.value.replace(" ", "_") for category in Category}


def test_whoever_asked_for_no_metrics_measures_nothing_and_does_not_fail() -> None:
    SILENT.count(PROPOSALS_RECEIVED, "not even", "a label is looked at")
    SILENT.set(PARTITIONS_HELD, 1)
    SILENT.observe(COMMIT_SECONDS, 1.0)
    with SILENT.timing(COMMIT_SECONDS):
        pass


def test_every_metric_is_of_one_of_three_kinds() -> None:
    assert {type(metric) for metric in CATALOGUE} == {Counter, Gauge, Histogram}
