"""What a soak tells in the end: each trend, what its rule allows, and the verdict."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from support.soak.flatness import FEWEST, WARM_UP, Trend, grew
from support.soak.samples import Measure

RULE = (
    f"The warm-up is left out: {WARM_UP:.0%} where it isn't told. Flat is what has at least {FEWEST} samples and whose median of the last third lies "
    "no higher above that of the first than is allowed. What was started again now and then is shown, and not judged."
)


def soak_report(found: Sequence[Trend]) -> RenderableType:
    table = Table("measured", "of", "first third", "last third", "an hour", "may grow by", "", box=None, pad_edge=False)
    for column in table.columns[2:6]:
        column.justify = "right"
    for trend in _in_order(found):
        table.add_row(
            trend.measure.value,
            trend.who,
            f"{trend.first:.2f}",
            f"{trend.last:.2f}",
            f"{trend.per_hour:+.2f}",
            f"{trend.allowed:.2f}",
            _word(trend),
            style="" if trend.is_judged else "dim",
        )
    bad = grew(found)
    verdict = Text(f"not flat: {', '.join(_name(each) for each in bad)}", style="red") if bad else _flat(found)
    return Group(table, Text(RULE), verdict)


def _flat(found: Iterable[Trend]) -> Text:
    return Text(f"flat: all {sum(trend.is_judged for trend in found)} that are judged", style="green")


def _in_order(found: Iterable[Trend]) -> list[Trend]:
    measures = list(Measure)
    return sorted(found, key=lambda trend: (measures.index(trend.measure), not trend.is_judged, trend.who))


def _word(trend: Trend) -> str:
    if not trend.is_judged:
        return "started again"
    if trend.samples < FEWEST:
        return f"only {trend.samples} samples"
    return "flat" if trend.is_flat else "grew"


def _name(trend: Trend) -> str:
    return f"{trend.measure.value} of {trend.who}"
