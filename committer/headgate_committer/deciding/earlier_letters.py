"""Refusals of proposals for a table that wasn't there. No version holds them, so they are read from the dead letters.

The first version that a bus feeds takes these refusals over. From then on the table remembers them like all others.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing

from headgate_bus.errors import BusUnavailable, OffsetGone
from headgate_bus.interface import Bus, Topic
from headgate_committer.proposals.answers import Answer
from headgate_schemas.messages.dead_letters import decode_dead_letter
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.operations import Append, RejectCode, Rejected
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import Decision
from headgate_table.indextables.rules.decide import Effect
from headgate_table.indextables.write.version_body import Decided

LETTERS_READ = 20_000
"""The newest dead letters among which those of a new table are looked for."""
LETTERS_KEPT = 1_000
"""The newest refusals of one table that go into its first version."""
_READ_WITHIN_S = 10.0
_CODES = {
    code.value: code
    for code in RejectCode
    if code not in (RejectCode.EXPIRED, RejectCode.SUPERSEDED, RejectCode.MISPLACED)
}
"""Other codes are no decision about a first delivery that a later one could contradict."""


class EarlierLetters:
    """The refusals that one table's authors were told before it had a version to hold them. Newest last, bounded."""

    def __init__(self, bus: Bus, source: Source, uri: str) -> None:
        self._bus = bus
        self._source = source
        self._uri = uri
        self._found: dict[str, Decision] = {}
        self._is_read = False

    def told(self, answers: Iterable[Answer]) -> None:
        """Note answers that are given while there is no table. They reach the bus only later."""
        for answer in answers:
            if isinstance(answer.receipt, Rejected):
                self._note(answer.receipt, answer.offset)

    def refusals(self) -> Mapping[str, Decision]:
        """By id. The bus is read once. Raises `BusUnavailable`."""
        if not self._is_read:
            told, self._found = self._found, {}
            self._read()
            for identity, decision in told.items():
                self._found.setdefault(identity, decision)
            self._is_read = True
        while len(self._found) > LETTERS_KEPT:
            del self._found[next(iter(self._found))]
        return self._found

    def forget(self) -> None:
        """Forget all: the table has taken them over, or is another one."""
        self._found, self._is_read = {}, False

    def _read(self) -> None:
        extent = self._bus.extent(Topic.DEAD_LETTERS, 0)
        start = max(extent.first, extent.next_offset - LETTERS_READ)
        while start < extent.next_offset:
            try:
                self._read_on(start, extent.next_offset)
            except OffsetGone as gone:
                start = gone.first  # trimmed a moment ago
            else:
                return

    def _read_on(self, start: int, end: int) -> None:
        with closing(self._bus.reader(Topic.DEAD_LETTERS, {0: start})) as reader:
            while (before := reader.offsets()[0]) < end:
                for record in reader.read(_READ_WITHIN_S):
                    if record.key == self._uri:
                        self._take(record.body)
                if reader.offsets()[0] == before:
                    raise BusUnavailable(
                        f"dead letter {before} of {self._bus.address} could not be read within {_READ_WITHIN_S:g} s, so nobody knows "
                        f"what was told about proposals for {self._uri} before it was made; it is tried again"
                    )

    def _take(self, body: bytes) -> None:
        try:
            letter = decode_dead_letter(body)
        except UnreadableMessage:
            return  # a foreign message, which told nobody anything
        code = _CODES.get(letter.code)
        if letter.proposal is None or letter.table != self._uri or code is None or not letter.told:
            return
        is_ours = (letter.cluster, letter.topic, letter.partition) == (
            self._source.cluster,
            self._source.topic,
            self._source.partition,
        )
        self._note(Rejected(code, letter.reason, letter.proposal), letter.offset if is_ours else None)

    def _note(self, receipt: Rejected, offset: int | None) -> None:
        if receipt.code.value in _CODES:
            decision = Decision(receipt.proposal_id, False, offset, code=receipt.code, reason=receipt.reason)
            self._found.setdefault(receipt.proposal_id, decision)


def as_decided(refusals: Mapping[str, Decision]) -> tuple[Decided, ...]:
    """As decisions of a version, in the order of the bus. Their operations are unknown, and not needed."""
    ordered = sorted(refusals.values(), key=lambda each: -1 if each.offset is None else each.offset)
    return tuple(Decided(Append(()), Effect(), decision) for decision in ordered)
