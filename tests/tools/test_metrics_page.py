"""The page of metrics says what the code does."""

from pathlib import Path

from headgate_schemas.metrics import CATALOGUE
from tooling.pages.metrics_page import alert_rules, page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_metrics_is_what_the_code_says() -> None:
    assert (ROOT / "docs/metrics.md").read_text(encoding="utf-8") == page()


def test_the_page_names_every_metric_and_every_alert() -> None:
    text = page()
    assert [metric.name for metric in CATALOGUE if f"| `{metric.name}` |" not in text] == []
    assert [rule["alert"] for rule in alert_rules() if f"| {rule['alert']} |" not in text] == []
