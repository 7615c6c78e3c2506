"""Whatever a version says of itself, its event can be made, written, sent and read."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate_bus.interface import Topic
from headgate_bus.message_bounds import check_messages
from headgate_committer.backend.commit_events import event_of
from headgate_committer.proposals.answers import commit_messages
from headgate_schemas.messages.events import decode_event
from headgate_table.coordination.commit_info import record_of

NUMBERS = st.integers(-(2**70), 2**70)
TEXTS = st.text(st.characters(exclude_categories=())) | st.builds(
    lambda text, times: text * times,
    st.sampled_from(["\x01", "\ud800", "€", "\\", "😀"]),
    st.sampled_from([1, 199, 100_000, 600_000]),
)
DECISIONS = st.fixed_dictionaries({"id": TEXTS, "accepted": st.booleans()})
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "timestamp": NUMBERS,
        "operation": TEXTS,
        "committer": st.fixed_dictionaries({"id": TEXTS, "epoch": NUMBERS}),
        "decisions": st.lists(DECISIONS, max_size=5),
    },
)


@given(BODIES, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_every_version_can_be_announced(
    body: dict[str, Any], added: int, removed: int, added_bytes: int, removed_bytes: int
) -> None:
    event = event_of(
        "s3://lake/table",
        7,
        record_of(body),
        added=added,
        removed=removed,
        added_bytes=added_bytes,
        removed_bytes=removed_bytes,
    )
    messages = commit_messages([event], "committer", 1)
    check_messages(Topic.EVENTS, messages)
    assert decode_event(messages[0].body) == event
