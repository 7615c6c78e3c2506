"""The dashboard and the alert rules use series and labels that there are, in expressions that are well-formed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate_schemas.measures import Histogram, Label
from headgate_schemas.metrics import BUILD_INFO, BY_NAME, CATALOGUE, LIBRARY_METRICS
from support.docs.promql import Malformed, Selector, used_by
from tooling.pages.metrics_page import alert_rules

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "deploy/grafana-dashboard.json"
SUFFIXES = ("_bucket", "_sum", "_count")
OF_THE_SCRAPE = {"job", "instance"}
"""Labels that Prometheus adds."""
FOREIGN = {*LIBRARY_METRICS, BUILD_INFO, "up"}


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return found


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    for rule in alert_rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"]


ALL = list(expressions())


def labels_of(metric: str) -> dict[str, Label | None]:
    """The labels of a series and their values; None where any may come. Raises `KeyError` for a series that there isn't."""
    found: dict[str, Label | None] = dict.fromkeys(OF_THE_SCRAPE)
    if metric in FOREIGN:
        return found | ({"version": None, "python": None} if metric == BUILD_INFO else {})
    for suffix in SUFFIXES:
        histogram = BY_NAME.get(metric.removesuffix(suffix))
        if metric.endswith(suffix) and isinstance(histogram, Histogram):
            found |= {"le": None} if suffix == "_bucket" else {}
            return found | {label.name: label for label in histogram.labels}
    assert not isinstance(BY_NAME[metric], Histogram), f"{metric} has {SUFFIXES} only"
    return found | {label.name: label for label in BY_NAME[metric].labels}


def unknown_values(selector: Selector) -> list[str]:
    """Values that its labels never have."""
    wrong: list[str] = []
    labels = labels_of(selector.metric)
    for name, operator, text in selector.labels:
        label = labels[name]
        if label is not None:
            values = text.split("|") if "~" in operator else [text]
            wrong += [value for value in values if value not in label.values]
    return wrong


@pytest.mark.parametrize(("where", "expression"), ALL, ids=[where for where, _ in ALL])
def test_an_expression_uses_series_and_labels_that_there_are(where: str, expression: str) -> None:
    used = used_by(expression)
    assert used.selectors
    for selector in used.selectors:
        assert {name for name, _, _ in selector.labels} <= labels_of(selector.metric).keys(), selector
        assert unknown_values(selector) == []
    assert used.grouped_by <= set().union(*(labels_of(selector.metric).keys() for selector in used.selectors))


@pytest.mark.parametrize(("where", "expression"), ALL, ids=[where for where, _ in ALL])
def test_only_what_grows_is_asked_for_its_growth(where: str, expression: str) -> None:
    for selector in used_by(expression).selectors:
        grows = selector.metric.endswith(("_total", *SUFFIXES))
        if selector.inside in ("rate", "increase"):
            assert grows, selector
        assert (selector.inside == "changes") == (selector.metric == "process_start_time_seconds")


def test_every_metric_of_ours_is_on_the_dashboard_or_in_an_alert_but_for_details() -> None:
    shown = {selector.metric for _, text in ALL for selector in used_by(text).selectors}
    bare = {name.removesuffix(suffix) for name in shown for suffix in ("", *SUFFIXES)}
    details = {
        "headgate_proposals_received_bytes_total",
        "headgate_state_read_files",
        "headgate_state_read_manifests",
        "headgate_state_tombstone_ratio",
        "headgate_state_tombstones",
    }
    assert {metric.name for metric in CATALOGUE} - bare == details


def test_an_alert_says_what_is_wrong_how_bad_it_is_and_what_to_do() -> None:
    rules = alert_rules()
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"] in ({"severity": "critical"}, {"severity": "warning"})
        assert re.fullmatch(r"Headgate[A-Z]\w+", rule["alert"])
        assert len(rule["annotations"]["summary"]) < 120
        assert len(rule["annotations"]["description"]) > 60
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}


def test_a_summary_names_labels_that_its_expression_leaves() -> None:
    for rule in alert_rules():
        used = used_by(rule["expr"])
        left = used.grouped_by or set().union(*(labels_of(selector.metric).keys() for selector in used.selectors))
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= left


def test_commands_in_alerts_are_commands() -> None:
    named = {
        word
        for rule in alert_rules()
        for word in re.findall(r"`headgate ([a-z-]+)", rule["annotations"]["description"])
    }
    assert named == {"health", "table", "dead-letters"}


def test_panels_have_places_of_their_own_and_say_what_they_show() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])
    assert all(panel["title"] for panel in panels())


@pytest.mark.parametrize(
    "wrong",
    [
        "sum(rate(a_total[5m])",
        "rate(a_total)",
        "max(a[5m])",
        "frobnicate(a)",
        "sum by (x (a)",
        'a{b="c}',
        "a{b=c}",
        "a)",
    ],
)
def test_the_reader_of_expressions_refuses_what_is_malformed(wrong: str) -> None:
    with pytest.raises(Malformed):
        used_by(wrong)


def test_the_reader_of_expressions_finds_series_labels_and_groups() -> None:
    used = used_by('histogram_quantile(0.9, sum by (le, step) (rate(a_bucket{b=~"x|y", c="z"}[5m]))) > 1')
    assert used.grouped_by == {"le", "step"}
    assert used.selectors == (Selector("a_bucket", (("b", "=~", "x|y"), ("c", "=", "z")), True, "rate"),)
