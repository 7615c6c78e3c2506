"""Growth curves of what was measured, as small pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parts.figures import Figure, Figures


@dataclass(frozen=True, slots=True)
class Curve:
    """One picture: a work over its sizes, its time or its memory, a line for each engine."""

    name: str
    work: str
    title: str
    across: str
    up: str
    memory: bool = False

    def height(self, figure: Figure) -> float:
        return figure.peak_mb if self.memory else figure.median


TABLE_CURVES = (
    Curve("load-time", "load", "Listing all live files", "files in the table", "ms"),
    Curve("load-memory", "load", "Memory of listing all live files", "files in the table", "MB", memory=True),
    Curve("partition-time", "partition", "Listing the files of one partition", "files in the table", "ms"),
    Curve("append-time", "append", "Adding 100 files", "files in the table", "ms"),
)
_SIZE_IN = (5.2, 3.4)


def commit_curves(places: Sequence[str]) -> tuple[Curve, ...]:
    return tuple(
        Curve(
            f"commits-{place.replace('+', '-')}",
            f"writers, {place}",
            f"Commits of one file, {place}",
            "writers",
            "commits/s",
        )
        for place in places
    )


def draw(curves: tuple[Curve, ...], figures: Figures, folder: Path) -> list[Path]:
    """A picture for each curve of which there are figures; both axes are logarithmic."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "headgate"  # equal figures make equal files
    matplotlib.rcParams["svg.fonttype"] = "none"  # letters as letters, not as drawings of them
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for curve in curves:
        lines: dict[str, list[Figure]] = {}
        for figure in figures.of(curve.work):
            if curve.height(figure) > 0:
                lines.setdefault(figure.engine, []).append(figure)
        if not lines:
            continue
        picture, axes = pyplot.subplots(figsize=_SIZE_IN, layout="constrained")
        for engine, points in lines.items():
            axes.plot([point.size for point in points], [curve.height(point) for point in points], "o-", label=engine)
        axes.set(xscale="log", yscale="log", xlabel=curve.across, ylabel=curve.up, title=curve.title)
        axes.grid(alpha=0.3)
        axes.legend()
        drawn.append(folder / f"benchmark-{curve.name}.svg")
        picture.savefig(drawn[-1], metadata={"Date": None})
        pyplot.close(picture)
    return drawn
