"""What is heard of a process under torture, whose last line may be torn."""

import pytest

from support.torture.children import logged_events


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ('{"event": "a"}', ["a"]),
        ('{"event": "a"}{"event": "b"}', ["a", "b"]),
        ('{"event": "a"}{"eve', ["a"]),
        ('{"eve{"event": "b"}', []),
        ("Error: the bus isn't reachable", []),
        ("", []),
    ],
)
def test_a_line_tells_whole_events_only(line: str, events: list[str]) -> None:
    assert [event["event"] for event in logged_events(line)] == events
