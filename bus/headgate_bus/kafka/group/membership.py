"""Membership in a consumer group: a subscribed consumer, and how it joins."""

from concurrent.futures import Future, wait

from kafka.errors import KafkaError
from kafka.structs import MemberState

from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.clients import CLOSE_TIMEOUT_S, new_consumer
from headgate_bus.kafka.deadline_calls import KafkaCalls
from headgate_bus.kafka.errors import translated
from headgate_bus.kafka.group.assignment_listener import Comings
from headgate_bus.kafka.group.assignor import TruthfulAssignor
from headgate_bus.kafka.group.positions import KafkaPlaces

JOIN_TIMEOUT_S = 30.0


class KafkaMembership:
    """One attempt at membership. After it is lost, make another."""

    def __init__(
        self, address: KafkaAddress, group: str, topic: str, calls: KafkaCalls, announced: bytes = b""
    ) -> None:
        """`group` is a name on this bus, `topic` a name on the cluster. Everybody who describes the group sees
        `announced`.
        """
        self._address = address
        self._group = group
        self._calls = calls
        self._joining: Future[bool] | None = None
        self.is_lost = False
        assignor = TruthfulAssignor()
        assignor.announced = announced
        self.consumer = new_consumer(
            address,
            address.group(group),
            session_timeout_ms=address.session_timeout_ms,
            heartbeat_interval_ms=address.session_timeout_ms // 4,
            max_poll_interval_ms=address.max_poll_interval_ms,
            # Held partitions stay held, and keep working, while other members join and leave.
            partition_assignment_strategy=(assignor,),
        )
        assignor.owned = self.consumer.assignment
        self.places = KafkaPlaces(self.consumer, topic)
        self.comings = Comings(self.places)
        self.consumer.subscribe([topic], listener=self.comings)

    @property
    def is_moving(self) -> bool:
        """Whether the assignment may have changed since the last look. Until the next look, positions mean nothing."""
        return self._joining is not None or self.comings.has_news

    def has_joined(self, timeout_s: float) -> bool:
        """Whether this member knows its assignment. If not, a thread joins in the background, for as long as it takes.

        A short poll of the consumer forgets a join that ended between two polls, and then starts another or none; with
        many members, some might never join. So joining is one long wait on a thread of its own. The client has no
        public call for it.
        """
        if self._joining is None:
            coordinator = self.consumer._coordinator
            if self.consumer.group_metadata().state == MemberState.REBALANCING:
                coordinator.request_rejoin()
            elif not coordinator.need_rejoin():
                return True
            self._joining = self._calls.start(
                f"joining group {self._group}", lambda: coordinator.poll(timeout_ms=int(JOIN_TIMEOUT_S * 1000))
            )
        wait([self._joining], timeout_s)
        if not self._joining.done():
            return False
        joining, self._joining = self._joining, None
        try:
            joining.result()
        except KafkaError as error:
            if not error.retriable:
                self.is_lost = True
                raise translated(error, f"joining group {self._group}", self._address) from error
        return False

    def leave(self) -> None:
        self.consumer.close(autocommit=False, timeout_ms=int(CLOSE_TIMEOUT_S * 1000))
