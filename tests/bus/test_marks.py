"""A log is known again by the newest record that was settled, whatever happened to its end, its beginning or its topic."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Extent, Mark, Message, Record, Topic
from headgate_bus.marks import (
    KnownLog,
    Proof,
    cut_mark,
    identity_of,
    known_again,
    look_again,
    mark_of,
    mark_text,
    read_mark,
    record_at,
)
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus

PROPOSALS = Topic.PROPOSALS
GROUP = "committers"

MARKS = st.builds(
    Mark,
    st.text(st.characters(codec="ascii"), max_size=40),
    st.integers(-1, 1 << 62),
    st.text(max_size=200),
    st.none() | st.integers(0, 1 << 31),
)


@given(MARKS)
def test_a_mark_is_read_as_it_was_written(mark: Mark) -> None:
    assert read_mark(mark_text(mark)) == mark


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        "null",
        "[]",
        "{",
        "7",
        '{"topic":"t"}',
        '{"topic":"t","offset":true,"id":"a"}',
        '{"topic":1,"offset":1,"id":"a"}',
    ],
)
def test_what_another_program_left_beside_an_offset_is_no_mark(text: str | None) -> None:
    assert read_mark(text) is None


def test_a_mark_without_an_epoch_is_one() -> None:
    assert read_mark('{"topic":"t","offset":7,"id":"a","epoch":"x"}') == Mark("t", 7, "a")


def test_records_without_a_plain_id_are_told_apart_by_their_bytes() -> None:
    plain = Record(0, 0, 0, "t", b"x", {"ce_subject": "p1"})
    assert identity_of(plain) == "p1"
    odd = [replace(plain, headers=headers) for headers in ({}, {"ce_subject": "two words"}, {"ce_subject": "x" * 201})]
    assert len({identity_of(record) for record in odd}) == 1
    assert identity_of(odd[0]) != identity_of(replace(odd[0], body=b"y"))


def _bus(*ids: str) -> MemoryBus:
    bus = MemoryBus(FakeAmbient())
    bus.prepare()
    _append(bus, *ids)
    return bus


def _append(bus: MemoryBus, *ids: str) -> None:
    bus.append(PROPOSALS, [Message("t", {"ce_subject": identity}, b"{}") for identity in ids])


def _known(bus: MemoryBus, committed: int | None, mark: Mark | None) -> KnownLog:
    return known_again(bus, bus.source(0), bus.extent(PROPOSALS, 0), committed, mark)


def _mark(bus: MemoryBus, offset: int) -> Mark:
    record = record_at(bus, 0, offset)
    assert record is not None
    return mark_of(bus.source(0).topic, record)


def test_nothing_is_known_before_anything_was_settled() -> None:
    assert _known(_bus("a"), None, None) == KnownLog(Proof.UNTOLD, 0)


def test_a_log_that_grew_is_known() -> None:
    bus = _bus("a", "b", "c")
    assert _known(bus, 2, _mark(bus, 1)) == KnownLog(Proof.KNOWN, 2)


def test_what_lies_between_the_mark_and_the_offset_is_read_again() -> None:
    bus = _bus("a", "b", "c")
    assert _known(bus, 3, _mark(bus, 1)) == KnownLog(Proof.KNOWN, 2)


def test_a_log_that_ends_below_the_offset_was_cut() -> None:
    known = _known(_bus("a"), 2, None)
    assert (known.proof, known.start) == (Proof.CUT, 0)
    assert "offset 2 was settled, but the log ends at 1" in known.reason


def test_a_log_that_has_grown_over_the_offset_again_was_cut() -> None:
    bus = _bus("a", "b")
    mark = _mark(bus, 1)
    bus.cluster.lose_tail(PROPOSALS, 0, 1)
    _append(bus, "x", "y", "z")
    known = _known(bus, 2, mark)
    assert (known.proof, known.start) == (Proof.CUT, 0)
    assert "the last with record b at offset 1, but the log holds something else there" in known.reason


def test_the_same_record_of_another_leaders_term_is_another_record() -> None:
    bus = _bus("a", "b")
    log = bus.cluster.partition(PROPOSALS, 0)
    mark = replace(_mark(bus, 1), leader_epoch=3)
    assert _known(bus, 2, mark).proof is Proof.KNOWN  # where one of the two doesn't tell, the id does
    log.records[1] = replace(log.records[1], leader_epoch=4)
    assert _known(bus, 2, mark).proof is Proof.CUT
    log.records[1] = replace(log.records[1], leader_epoch=3)
    assert _known(bus, 2, mark).proof is Proof.KNOWN


def test_a_topic_made_anew_is_read_from_its_beginning() -> None:
    bus = _bus("a", "b")
    mark = _mark(bus, 1)
    bus.cluster.recreate(PROPOSALS)
    _append(bus, "a", "b", "c")
    known = _known(bus, 2, mark)
    assert (known.proof, known.start) == (Proof.REPLACED, 0)
    assert "it was made anew" in known.reason


def test_a_cut_stays_one_until_something_is_settled() -> None:
    bus = _bus("a", "b")
    known = _known(bus, 0, cut_mark(bus.source(0).topic))
    assert (known.proof, known.start) == (Proof.CUT, 0)
    assert known.reason


def test_of_a_trimmed_mark_nothing_is_told() -> None:
    bus = _bus("a", "b", "c")
    mark = _mark(bus, 0)
    bus.cluster.truncate(PROPOSALS, 0, 2)
    assert _known(bus, 1, mark) == KnownLog(Proof.UNTOLD, 2)
    assert _known(bus, 2, mark) == KnownLog(Proof.UNTOLD, 2)


def test_a_mark_that_is_trimmed_while_it_is_looked_for_is_no_cut() -> None:
    bus = _bus("a", "b", "c")
    mark, source = _mark(bus, 0), bus.source(0)
    bus.cluster.truncate(PROPOSALS, 0, 2)
    assert known_again(bus, source, Extent(0, 3), 1, mark) == KnownLog(Proof.UNTOLD, 2)


def test_a_bus_that_does_not_answer_is_no_cut() -> None:
    bus = _bus("a", "b")
    mark, source, extent = _mark(bus, 1), bus.source(0), bus.extent(PROPOSALS, 0)
    bus.cluster.available = False
    with pytest.raises(BusUnavailable):
        known_again(bus, source, extent, 2, mark)


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("settle"), st.integers(0, 5)),
        st.tuples(st.just("cut"), st.integers(1, 6)),
        st.tuples(st.just("trim"), st.integers(1, 3)),
        st.tuples(st.just("recreate"), st.just(0)),
    ),
    max_size=12,
)


@given(_STEPS)
def test_below_the_offset_that_counts_lies_nothing_but_what_was_settled(steps: list[tuple[str, int]]) -> None:
    """Whatever befalls the log: who begins where it says passes over no record that nobody settled."""
    bus, settled, made = _bus(), {"none"}, 0
    is_whole = True
    seat = bus.seat(GROUP)
    seat.poll(0.0)
    for step, number in steps:
        log = bus.cluster.partition(PROPOSALS, 0)
        match step:
            case "append":
                _append(bus, *(f"r{made + each}" for each in range(number)))
                made += number
            case "cut":
                is_whole &= log.next_offset == log.first
                bus.cluster.lose_tail(PROPOSALS, 0, log.next_offset - number)
            case "trim":
                bus.cluster.truncate(PROPOSALS, 0, log.first + number)
            case "recreate":
                bus.cluster.recreate(PROPOSALS)
            case _:
                known, _ = look_again(bus, GROUP, 0)
                if known.reason:
                    seat.set_back(0, known.start, cut_mark(bus.source(0).topic) if known.proof is Proof.CUT else None)
                below = [record for record in log.records if record.offset < max(known.start, log.next_offset - number)]
                if below:
                    offset = below[-1].offset + 1
                    seat.publish(0, [], [], offset, mark_of(bus.source(0).topic, below[-1]))
                    settled |= {identity_of(record) for record in below}
    known, extent = look_again(bus, GROUP, 0)
    log = bus.cluster.partition(PROPOSALS, 0)
    assert extent.first <= known.start <= extent.next_offset
    assert {identity_of(record) for record in log.records if record.offset < known.start} <= settled
    if is_whole:
        assert known.proof is not Proof.CUT
