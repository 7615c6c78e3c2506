"""A bus in a file on which nothing is trimmed to make room: the judge reads every proposal there at the end."""

from headgate_bus.sqlite.bus import SqliteBus


def trim_nothing() -> None:
    """In this process, who is refused on a full disk waits until there is room again."""
    SqliteBus._make_room = lambda self: False  # type: ignore[method-assign]  # what it does is tested by itself
