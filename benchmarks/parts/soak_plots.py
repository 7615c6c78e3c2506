"""What a soak measured, as a picture: a panel for each measure, a line for each that was measured."""

from collections.abc import Iterable
from pathlib import Path

import matplotlib

from support.soak.samples import Measure, Sample, by_series
from support.soak.soaking import stays

COLUMNS = 2
PANEL_INCHES = (7.0, 3.2)
_MINUTE_S = 60.0


def draw(samples: Iterable[Sample], path: Path, title: str) -> None:
    """Thick lines ran all the time and are judged; thin ones were started again now and then."""
    matplotlib.use("agg")
    from matplotlib import pyplot

    series = by_series(samples)
    rows = -(-len(Measure) // COLUMNS)
    size = (PANEL_INCHES[0] * COLUMNS, PANEL_INCHES[1] * rows)
    figure, panels = pyplot.subplots(rows, COLUMNS, figsize=size, sharex=True, layout="constrained")
    for measure, panel in zip(Measure, panels.flat, strict=True):
        measured = {who: moments for (who, what), moments in series.items() if what is measure}
        for who in sorted(measured):
            minutes, values = zip(*((at_s / _MINUTE_S, value) for at_s, value in measured[who]), strict=True)
            panel.plot(minutes, values, label=who, linewidth=1.6 if stays(who) else 0.6)
        panel.set_title(measure.value, fontsize=10)
        panel.set_ylim(bottom=0)
        panel.grid(visible=True, alpha=0.3)
        if len(measured) > 1:
            panel.legend(fontsize=6, ncols=3)
    for panel in panels[-1]:
        panel.set_xlabel("minutes")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
