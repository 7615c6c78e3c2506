"""What a table remembers, compared with a plain list of everything that was ever decided, under clocks that say what they like.

The model keeps all and forgets nothing. The memory may forget, but must never let anything be decided twice, tell a version that
doesn't hold a proposal, or turn fresh proposals away.
"""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.messages.operations import Committed, Duplicate, RejectCode, Rejected, Writer
from headgate_table.coordination.commit_info import Decision
from headgate_table.coordination.memory import RECENT_SEQS, Arrival, MemoryLimits, TableMemory
from headgate_table.coordination.memory_text import format_memory, parse_memory
from support.logs.decided_logs import TERM, by_committer
from support.tables import START_MS

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SKEW_MS = 30_000
MAX_IDS = 6
LIMITS = MemoryLimits(window_ms=7 * DAY_MS, max_ids=MAX_IDS)

OFF_MS = st.sampled_from((0, 0, 0, 1, -1_000, 20_000, HOUR_MS, -HOUR_MS, 30 * DAY_MS, -30 * DAY_MS, -START_MS))
"""By how much the bus's time or an author's clock is off."""
BEHIND_MS = st.sampled_from((0, 0, 0, 14 * 60_000))
"""By how much a committer's clock is behind, within what the store bears out."""
STEP_MS = st.sampled_from((0, 1, 1_000, 1_000, 60_000, HOUR_MS, DAY_MS, 8 * DAY_MS))


@dataclass(frozen=True)
class Fate:
    """What became of one id, for good."""

    version: int
    code: RejectCode | None
    created_ms: int
    writer: Writer | None
    decided_ms: int


@dataclass
class Everything:
    """All that was ever decided."""

    ids: dict[str, Fate] = field(default_factory=dict)
    seqs: dict[str, dict[int, int]] = field(default_factory=dict)


@st.composite
def asked(draw: st.DrawFn) -> tuple[bool, Writer | None, int]:
    """Whether it is accepted, by whom it is written, and the error of its author's clock."""
    writer = draw(st.none() | st.builds(Writer, st.sampled_from("ab"), st.integers(0, 30)))
    return draw(st.booleans()), writer, draw(OFF_MS)


STEPS = st.lists(
    st.tuples(STEP_MS, OFF_MS, st.lists(asked(), min_size=1, max_size=8), st.booleans(), BEHIND_MS),
    min_size=1,
    max_size=25,
)


@given(STEPS)
def test_nothing_is_decided_twice_no_version_is_made_up_and_nobody_is_turned_away(
    steps: list[tuple[int, int, list[tuple[bool, Writer | None, int]], bool, int]],
) -> None:
    memory, everything, now_ms = TableMemory(LIMITS), Everything(), START_MS
    for version, (step_ms, bus_off_ms, proposals, is_reread, behind_ms) in enumerate(steps):
        now_ms += step_ms
        decisions: list[Decision] = []
        made_ms: list[int] = []
        bus_ms = max(0, now_ms + bus_off_ms)
        told_ms = now_ms - behind_ms
        for number, (is_good, writer, off_ms) in enumerate(proposals):
            identity, created_ms = f"{version}/{number}", max(0, now_ms + off_ms)
            if _is_turned_away(memory, identity, writer, created_ms, bus_ms, now_ms, decisions):
                continue
            code = None if is_good else RejectCode.NOT_LIVE
            decisions.append(
                Decision(identity, is_good, writer=writer, code=code, reason=None if is_good else "x" * 20)
            )
            everything.ids[identity] = Fate(version, code, created_ms, writer, now_ms)
            if is_good:
                made_ms.append(created_ms)
                if writer is not None:
                    everything.seqs.setdefault(writer.app, {})[writer.seq] = version
        memory.apply(
            version,
            by_committer(
                *decisions,
                next_offset=version + 1,
                appended_ms=bus_ms,
                time_ms=told_ms,
                made_ms=max(made_ms, default=None),
                term=TERM,
            ),
        )
        if is_reread:
            memory = parse_memory(format_memory(memory), LIMITS)
        for identity, fate in everything.ids.items():
            _judge_other_writers(memory, identity, fate)
            _judge_repetition(memory, everything, identity, fate, now_ms)
        _judge_seqs(memory, everything)
        _judge_fresh(memory, now_ms)
        _judge_backlog(memory, everything, now_ms)


def _is_turned_away(
    memory: TableMemory,
    identity: str,
    writer: Writer | None,
    created_ms: int,
    bus_ms: int,
    now_ms: int,
    group: list[Decision],
) -> bool:
    """As the committer does before it decides; within a group only what comes first of a writer."""
    if memory.earlier(identity, writer) is not None:
        return True
    arrival = Arrival(created_ms, bus_ms, now_ms, SKEW_MS)
    if memory.may_have_decided(arrival, writer) is not None:
        return True
    if writer is None:
        return memory.is_ahead(arrival) and not memory.has_room_ahead()
    return memory.newer_seq(writer) is not None or any(
        each.writer is not None and each.writer.app == writer.app for each in group
    )


def _judge_repetition(memory: TableMemory, everything: Everything, identity: str, fate: Fate, now_ms: int) -> None:
    """The same message once more, an hour later."""
    later_ms = now_ms + HOUR_MS
    told = memory.earlier(identity, fate.writer)
    arrival = Arrival(fate.created_ms, later_ms, later_ms, SKEW_MS)
    expired = memory.may_have_decided(arrival, fate.writer) is not None
    if fate.code is not None:
        if told is not None and not (isinstance(told, Rejected) and told.code is fate.code):
            # Another proposal with the same seq was accepted since.
            assert fate.writer is not None
            assert max(everything.seqs[fate.writer.app]) >= fate.writer.seq
        if told is None and fate.created_ms <= fate.decided_ms:
            assert expired or fate.writer is not None, f"{identity}, {fate}, would be decided a second time"
        return
    if told is None:
        assert expired, f"{identity}, {fate}, would be decided a second time"
    elif isinstance(told, Duplicate):
        assert told.version == fate.version
    else:
        assert isinstance(told, Rejected)
        assert told.code is RejectCode.SUPERSEDED
    receipt = memory.receipt_of(identity)
    assert receipt is None or receipt == Committed(fate.version, identity)


def _judge_other_writers(memory: TableMemory, identity: str, fate: Fate) -> None:
    """The same id, sent by somebody else: it is in the version of the first, or in none."""
    for other in (None, Writer("a", 31), Writer("c", 0)):
        told = memory.earlier(identity, other)
        if fate.code is None and fate.writer is not None:  # fewer than are kept
            assert told == Duplicate(fate.version, identity), f"{identity}, {fate}, sent by {other}"
        elif told is not None:
            assert told == memory.earlier(identity, None)


def _judge_seqs(memory: TableMemory, everything: Everything) -> None:
    for app, versions in everything.seqs.items():
        newest = sorted(versions)[-RECENT_SEQS:]
        for seq in range(max(versions) + 1):
            told = memory.earlier("other id", Writer(app, seq))
            newer = memory.newer_seq(Writer(app, seq))
            if seq in newest:
                assert told == Duplicate(versions[seq], "other id")
                assert newer is None
            elif seq > newest[0]:
                assert (told, newer) == (None, max(versions))
            else:
                assert isinstance(told, Rejected)
                assert told.code is RejectCode.SUPERSEDED
                assert newer is None


def _judge_fresh(memory: TableMemory, now_ms: int) -> None:
    """A proposal of now, by a good clock, is decided at once, whatever others have made and when."""
    ids = memory.ids
    assert max(memory.lost_ms, ids.horizon_ms, ids.direct_horizon_ms, ids.refused_horizon_ms) <= now_ms
    for writer in (None, Writer("c", 0)):
        for bus_ms in (now_ms, now_ms + 30 * DAY_MS, now_ms - 30 * DAY_MS):
            arrival = Arrival(now_ms, bus_ms, now_ms, SKEW_MS)
            if bus_ms <= now_ms:  # else it seems to have waited there for a month, and may be a forgotten refusal
                assert memory.may_have_decided(arrival, writer) is None
            assert not memory.is_ahead(arrival)


def _judge_backlog(memory: TableMemory, everything: Everything, now_ms: int) -> None:
    """A proposal that waited is decided, if it was made after all that were accepted and may be forgotten."""
    accepted = [each.created_ms for each in everything.ids.values() if each.code is None]
    made_ms = max((each for each in accepted if each <= now_ms), default=0)
    refused_ms = memory.ids.refused_horizon_ms
    created_ms = max(made_ms, refused_ms + HOUR_MS if refused_ms else 0) + SKEW_MS
    if created_ms <= now_ms:
        assert memory.may_have_decided(Arrival(created_ms, now_ms, now_ms, SKEW_MS), None) is None
