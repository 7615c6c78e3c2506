"""A table's memory as text: the same memory comes back, equal memories give equal texts, and garbage is told apart."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.actions.actions import Action
from headgate_schemas.messages.operations import Writer
from headgate_table.coordination.commit_info import Term
from headgate_table.coordination.memory import Floor, MemoryLimits, TableMemory
from headgate_table.coordination.memory_text import (
    UnreadableMemory,
    format_floor,
    format_memory,
    is_memory,
    kept_memory,
    memory_limits,
    parse_floor,
    parse_memory,
)
from headgate_table.settings.options import table_options
from support.logs.decided_logs import OTHER, SOURCE, accepted, by_committer, decided_logs, removes, replayed

TIGHT = MemoryLimits(window_ms=1_000, max_ids=9, max_apps=2)


@given(decided_logs())
def test_a_memory_comes_back_from_its_text(versions: list[list[Action]]) -> None:
    memory = replayed(versions, TableMemory(TIGHT))
    text = format_memory(memory)
    assert parse_memory(text, TIGHT) == memory
    assert format_memory(parse_memory(text, TIGHT)) == text
    assert parse_floor(format_floor(memory.floor())) == memory.floor()


def test_the_order_in_which_paths_went_shows_in_no_text() -> None:
    """Break: `_removed_body` keeps the order of a dict: two processes would write different states."""
    one, two = TableMemory(), TableMemory()
    one.apply(0, removes("a", "b"))
    two.apply(0, removes("b", "a"))
    assert one == two
    assert format_memory(one) == format_memory(two)


@given(
    st.text(max_size=40)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    ).map(json.dumps)
)
def test_a_strange_text_is_unreadable_and_nothing_worse(text: str) -> None:
    with pytest.raises(UnreadableMemory):
        parse_memory(text, TIGHT)
    with pytest.raises(UnreadableMemory):
        parse_floor(text)
    assert not is_memory(text)


@given(st.data())
def test_a_damaged_text_is_unreadable_or_a_memory_but_never_a_crash(data: st.DataObject) -> None:
    memory = TableMemory()
    memory.apply(0, by_committer(accepted("a", writer=Writer("app", 1)), next_offset=1, purged=["p"]))
    memory.apply(1, removes("x"))
    body = json.loads(format_memory(memory))
    key = data.draw(st.sampled_from(sorted(body)))
    body[key] = data.draw(
        st.sampled_from([None, -1, "x", [], [None], [[1]], {"a": 1}, 2**70, True, [["a", "b", 0, -3]]])
    )
    try:
        parse_memory(json.dumps(body), TIGHT)
    except UnreadableMemory:
        return


def test_a_format_of_a_newer_release_is_unreadable() -> None:
    with pytest.raises(UnreadableMemory, match="format 2"):
        parse_floor('{"format":2}')


def test_a_floor_holds_what_must_survive() -> None:
    memory = TableMemory()
    memory.apply(0, by_committer(accepted("a", writer=Writer("app", 3)), next_offset=7, term=Term(4, "c")))
    memory.raise_floor(Floor(positions=((OTHER, 2),)))
    assert parse_floor(kept_memory(memory).floor) == Floor(
        Term(4, "c"), 0, SOURCE, ((SOURCE, 7), (OTHER, 2)), (("app", 3, 0),)
    )


def test_what_is_kept_does_not_change_with_the_memory() -> None:
    memory = TableMemory()
    memory.apply(0, by_committer(accepted("a"), next_offset=1))
    kept = kept_memory(memory)
    memory.apply(1, by_committer(accepted("b"), next_offset=2))
    assert (kept.through, parse_memory(kept.field, MemoryLimits()).position(SOURCE)) == (0, 1)


def test_an_id_takes_sixteen_bytes_of_a_state() -> None:
    """Break: ids are kept as they are, or in hexadecimal: a full window would cost several times as much in every state."""
    memory = TableMemory()
    memory.apply(0, [])
    empty = len(format_memory(memory))
    memory.apply(1, by_committer(*[accepted(f"proposal {n}") for n in range(1000)], next_offset=1000))
    assert len(format_memory(memory)) - empty < 16_500


@pytest.mark.parametrize(("text", "hours"), [("7d", 168), ("24h", 24), ("36", 36)])
def test_the_settings_say_how_much_is_remembered(text: str, hours: int) -> None:
    options = table_options(
        {
            "indextables.coordinator.dedupe.window": text,
            "headgate.coordinator.dedupe.maxIds": "5000",
            "coordinator.writers.max": "7",
        }
    )
    assert memory_limits(options) == MemoryLimits(hours * 3_600_000, 5000, 7)
