"""The page's thread that reads the bus: events, proposals, dead letters, and the committers' progress.

It joins no group and changes nothing. If the bus doesn't answer, the page shows that, and the thread tries again.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TypeVar

from headgate.page.page_state import PageState
from headgate.page.proposal_preview import glimpse
from headgate.page.shared_model import Board
from headgate_bus.errors import OffsetGone
from headgate_bus.interface import Bus, Reader, Record, Topic
from headgate_bus.open import open_bus
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import error_text
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.dead_letters import decode_dead_letter
from headgate_schemas.messages.events import decode_event
from headgate_schemas.messages.message_shape import UnreadableMessage

PAST: Mapping[Topic, int] = {Topic.EVENTS: 2_000, Topic.PROPOSALS: 1_000, Topic.DEAD_LETTERS: 100}
"""How many records of the past are read in each partition when the page begins."""
MAX_BEHIND: Mapping[Topic, int] = {Topic.EVENTS: 20_000, Topic.PROPOSALS: 5_000, Topic.DEAD_LETTERS: 5_000}
"""Further behind than this in one partition, the page passes over the rest and goes on with what is new."""
_EVENTS_WAIT_S = 0.15
_OTHERS_WAIT_S = 0.02
RECORDS: Mapping[Topic, int] = {Topic.EVENTS: 1_000, Topic.PROPOSALS: 100, Topic.DEAD_LETTERS: 50}
"""That are held at once: those of proposals and dead letters may be large."""
_BATCHES = 10
"""Of proposals that are taken before events are looked at again."""
_QUIET_LOOKS = 2
_ASK_S = 1.0
"""How often the bus is asked how far the committers are, and the page how far it is itself."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 5.0

T = TypeVar("T")

_log = get_logger("headgate.page")


class BusWatcher:
    """Reads the bus. For one thread."""

    def __init__(
        self,
        board: Board,
        address: str,
        committer_group: str,
        serves: Callable[[str], bool],
        ambient: Ambient,
        stopping: Callable[[float], bool],
    ) -> None:
        """`serves` decides whether a table is shown; `stopping` waits up to the given time for the order to stop."""
        self._board = board
        self._address = address
        self._group = committer_group
        self._serves = serves
        self._ambient = ambient
        self._stopping = stopping
        self._shown_address = ""

    def run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stopping(0):
            try:
                with closing(open_bus(self._address, self._ambient)) as bus:
                    self._shown_address = bus.address
                    self._follow(bus)
                    pause_s = FIRST_PAUSE_S
            except OffsetGone as gone:
                _log.info("page_passes_over", reason=str(gone))
                pause_s = FIRST_PAUSE_S
            except Exception as error:  # noqa: BLE001 - the outermost loop of this thread: the page says so and goes on
                self._say_trouble(error_text(error))
                pause_s = min(LONGEST_PAUSE_S, pause_s * 2)
            self._stopping(pause_s)

    def _say_trouble(self, reason: str) -> None:
        self._board.tell(lambda state, now_ms: state.saw_source("bus", self._shown_address, reason, now_ms))

    def _follow(self, bus: Bus) -> None:
        with ExitStack() as stack:
            readers = {topic: stack.enter_context(closing(_reader(bus, topic, PAST[topic]))) for topic in Topic}
            self._take_events(self._past_events(bus, readers[Topic.EVENTS]))
            ask_at_s = self._ambient.monotonic_s()
            while not self._stopping(0):
                self._take_events(readers[Topic.EVENTS].read(_EVENTS_WAIT_S, RECORDS[Topic.EVENTS]))
                if self._ambient.monotonic_s() >= ask_at_s:
                    ask_at_s = self._ambient.monotonic_s() + _ASK_S
                    if self._ask(bus, readers):
                        return
                for _ in range(_BATCHES):
                    proposals = readers[Topic.PROPOSALS].read(_OTHERS_WAIT_S, RECORDS[Topic.PROPOSALS])
                    self._take_proposals(proposals)
                    if len(proposals) < RECORDS[Topic.PROPOSALS]:
                        break
                self._take_letters(readers[Topic.DEAD_LETTERS].read(_OTHERS_WAIT_S, RECORDS[Topic.DEAD_LETTERS]))

    def _past_events(self, bus: Bus, reader: Reader) -> list[Record]:
        """All events so far, read before the rest, so that those of all partitions come in one order."""
        ends = {number: bus.extent(Topic.EVENTS, number).next_offset for number in reader.offsets()}
        found: list[Record] = []
        quiet = 0
        # The end of a log may consist of marks that are not records.
        while quiet < _QUIET_LOOKS and any(offset < ends[number] for number, offset in reader.offsets().items()):
            records = reader.read(_EVENTS_WAIT_S, RECORDS[Topic.EVENTS])
            quiet = 0 if records else quiet + 1
            found += records
        return found

    def _ask(self, bus: Bus, readers: Mapping[Topic, Reader]) -> bool:
        """Read the committers' progress. Returns whether this page is so far behind that it had better start again."""
        settled, undecided = {}, 0
        for partition in range(bus.partitions(Topic.PROPOSALS)):
            extent = bus.extent(Topic.PROPOSALS, partition)
            settled[partition] = max(extent.first, bus.committed(self._group, partition) or 0)
            undecided += max(0, extent.next_offset - settled[partition])

        def change(state: PageState, now_ms: int) -> None:
            for partition, offset in settled.items():
                state.saw_settled(partition, offset, now_ms)
            state.saw_lag(undecided, now_ms)
            state.saw_source("bus", bus.address, "", now_ms)

        self._board.tell(change)
        behind = {
            topic: max(
                bus.extent(topic, partition).next_offset - offset for partition, offset in reader.offsets().items()
            )
            for topic, reader in readers.items()
        }
        far = [topic for topic in behind if behind[topic] > MAX_BEHIND[topic]]
        if far:
            _log.info("page_passes_over", reason=f"{behind[far[0]]} records of {far[0].value} are unread")
        return bool(far)

    def _take_events(self, records: Sequence[Record]) -> None:
        events = []
        for record in sorted(records, key=lambda each: (each.time_ms, each.partition, each.offset)):
            try:
                event = decode_event(record.body)
            except UnreadableMessage:
                continue  # perhaps of a newer release, whose events this page doesn't know
            if event.table is None or self._serves(event.table):
                events.append(event)
        self._tell_each(events, PageState.saw_event)

    def _take_proposals(self, records: Sequence[Record]) -> None:
        seen = [glimpse(record) for record in records if not record.key or self._serves(record.key)]
        self._tell_each(seen, PageState.saw_proposal)

    def _take_letters(self, records: Sequence[Record]) -> None:
        letters = []
        for record in records:
            try:
                letters.append(decode_dead_letter(record.body))
            except UnreadableMessage:
                continue  # as for events
        self._tell_each(letters, lambda state, letter, _: state.saw_dead_letter(letter))

    def _tell_each(self, seen: Sequence[T], saw: Callable[[PageState, T, int], None]) -> None:
        """Update the model by all of them at once."""

        def change(state: PageState, now_ms: int) -> None:
            for each in seen:
                saw(state, each, now_ms)

        if seen:
            self._board.tell(change)


def _reader(bus: Bus, topic: Topic, past: int) -> Reader:
    extents = {number: bus.extent(topic, number) for number in range(bus.partitions(topic))}
    return bus.reader(
        topic, {number: max(extent.first, extent.next_offset - past) for number, extent in extents.items()}
    )
