"""Prints docs/metrics.md from the catalogue of metrics and the alert rules. `test_metrics_page` keeps the page equal to it."""

import ast
import inspect
import sys
from pathlib import Path
from typing import Any

import yaml

from headgate.health.judgement import STANDBY_AFTER_S, ReasonCode
from headgate_schemas.measures import Counter, Histogram, Label, Metric
from headgate_schemas.metrics import BUILD_INFO, CATALOGUE, CODE, LIBRARY_METRICS

ALERTS = Path(__file__).resolve().parents[3] / "deploy/alerts.yaml"

HEAD = """# Metrics and health

A committer or worker with `--listen HOST:PORT` (`HEADGATE_LISTEN`, or `listen` in TOML) serves these paths over HTTP:

| path | content | status |
| --- | --- | --- |
| `/healthz` | whether the process is alive: its loop still runs. If not, a restart helps | 200, or 503 |
| `/readyz` | whether it serves, or stands by while others serve. If not, the reason in words. JSON for `Accept: application/json` | 200, or 503 |
| `/metrics` | the metrics below, in the text format of Prometheus | 200 |

`headgate health http://HOST:PORT/readyz` prints the answer and exits with 0 or 1. It is a health check that needs no other
program. The port asks for no token. `/readyz` names tables, the bus and stores, so open it only to your own network.

```yaml
scrape_configs:
  - job_name: headgate # the alert rules know it by this name
    scrape_interval: 15s
    static_configs:
      - targets: ["committer:8080", "worker:8080"]
rule_files: [alerts.yaml]
```

`deploy/alerts.yaml` has alert rules, and `deploy/grafana-dashboard.json` is a dashboard. Tests check both against the names on this
page.

## When a process is ready

A part of a process is a committer or a worker. It is ready unless one of these reasons applies. It becomes ready again by itself.

| reason | means |
| --- | --- |
"""

AFTER_REASONS = f"""
The limits are settings of committers and workers ([Settings](settings.md)): `silent-after-ms`, `stuck-after-ms`,
`late-after-ms`, and `dead-after-ms` for `/healthz`. The process checks the bus, and the stores of the first eight separate roots,
every second. Each check has a thread of its own, so a hanging store is noticed as well as a refusing one. Without roots, no store
is checked, and a failing store shows in its tables.

**A standby committer is ready.** It holds no partition because others hold them all, and it can take over. Its metric
`headgate_partitions_held` is 0. For the first {STANDBY_AFTER_S:g} s without a partition, it is still starting.

**Held tables**, which need an operator, do not make a committer unready, because it serves the others. They have a metric and an
alert. A table that waits only because its store fails does make it unready, once it is late.

## Metrics

The units are bytes and seconds, as usual in Prometheus. Labels have only the listed values. No metric has a table as a label,
because there may be any number of tables, and each would leave a series behind. Logs, `/readyz` and `headgate table describe` name
tables. A series appears with its first measurement.

"""

LIBRARY = """
There are also `{build}` (labels `version` and `python`), and the metrics of every process with Prometheus' client:
{library}.

The design of the Avro states requires some metrics. They have these names here:

| in the design | here |
| --- | --- |
| `indextables.state.read.duration_ms` | `headgate_state_read_seconds` |
| `indextables.state.read.manifest_count` | `headgate_state_read_manifests` |
| `indextables.state.read.file_count` | `headgate_state_read_files` |
| `indextables.state.write.duration_ms` | `headgate_state_write_seconds` |
| `indextables.state.write.compacted` | label `compacted` of `headgate_state_write_seconds` |
| `indextables.state.tombstone_count` | `headgate_state_tombstones` as written, `headgate_state_tombstones_now` |
| `indextables.state.tombstone_ratio` | `headgate_state_tombstone_ratio` as written, `headgate_state_tombstone_ratio_highest` |

## Alerts, and what to do

| alert | meaning | what to do |
| --- | --- | --- |
"""


def page() -> str:
    said = _member_docstrings(ReasonCode)
    reasons = "".join(f"| `{code.value}` | {said[code.name].rstrip('.')} |\n" for code in ReasonCode)
    rows = "| metric | kind | labels | means |\n| --- | --- | --- | --- |\n" + "".join(map(_row, CATALOGUE))
    library = ", ".join(f"`{name}`" for name in LIBRARY_METRICS)
    codes = f"\n`code` is one of {', '.join(f'`{value}`' for value in CODE.values)}, as explained in [Operations](operations.md).\n"
    alerts = "".join(map(_alert, alert_rules()))
    return HEAD + reasons + AFTER_REASONS + rows + codes + LIBRARY.format(build=BUILD_INFO, library=library) + alerts


def alert_rules() -> list[dict[str, Any]]:
    """The rules of deploy/alerts.yaml, in order."""
    file = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    return [rule for group in file["groups"] for rule in group["rules"]]


def _member_docstrings(kind: type) -> dict[str, str]:
    """What stands below the members of an enumeration."""
    [body] = [
        node
        for node in ast.parse(Path(inspect.getfile(kind)).read_bytes()).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    return {
        member.targets[0].id: " ".join(text.value.value.split())
        for member, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(member, ast.Assign)
        and isinstance(member.targets[0], ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _row(metric: Metric) -> str:
    kind = type(metric).__name__.lower()
    labels = "; ".join(map(_label, metric.labels))
    assert isinstance(metric, Histogram) == bool(getattr(metric, "buckets", ())), metric
    assert isinstance(metric, Counter) == metric.name.endswith("_total"), metric
    return f"| `{metric.name}` | {kind} | {labels} | {metric.help} |\n"


def _label(label: Label) -> str:
    """The codes are many, and told of once."""
    return f"`{label.name}`" if label.name == CODE.name else f"`{label.name}`: {', '.join(label.values)}"


def _alert(rule: dict[str, Any]) -> str:
    notes = rule["annotations"]
    summary = notes["summary"].replace("{{ ", "").replace(" }}", "").replace("$labels.", "").replace("$value", "some")
    return f"| {rule['alert']} | {summary} | {notes['description']} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
