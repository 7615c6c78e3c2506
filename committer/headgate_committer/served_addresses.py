"""The one address by which this committer serves each table, because a table's proposals are decided in one order.

Two addresses may lead to one table: two schemes of one Azure container, two endpoints of one bucket, a mount. Their proposals have
keys of their own on the bus, so each would have an order, a position and receipts of its own. The first that is served stays.
"""

import threading
from collections import OrderedDict

from headgate_committer.errors import TableHeld
from headgate_committer.tables import OtherAddress

MAX_REMEMBERED = 100_000
"""Tables whose address is remembered, places and ids apart. Beyond that the one that was opened longest ago is forgotten."""


class ServedAddresses:
    """Addresses by place and by table id. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_place: OrderedDict[str, str] = OrderedDict()
        self._by_id: OrderedDict[str, str] = OrderedDict()

    def check_place(self, address: str, place: str) -> None:
        """Raises `OtherAddress` where the place was opened by another address. Proposals to this one are set aside."""
        known = self._known(self._by_place, place, address)
        if known != address:
            raise OtherAddress(
                f"{address} is another address of {known}, by which this committer serves the table: send proposals to {known}"
            )

    def check_id(self, address: str, table_id: str) -> None:
        """Raises `TableHeld` where a table with this id was opened by another address. Only an operator can
        tell whether they are one table, or one is a copy of the other."""
        known = self._known(self._by_id, table_id, address)
        if known != address:
            raise TableHeld(
                f"{address} has the table id {table_id} of {known}, which this committer serves: if both lead to one table, send "
                f"proposals to {known} alone; if the table was moved, restart the committer; if it is a copy, write to it "
                f"directly, or make it a table of its own with `headgate table repair`"
            )

    def _known(self, addresses: "OrderedDict[str, str]", key: str, address: str) -> str:
        with self._lock:
            known = addresses.setdefault(key, address)
            addresses.move_to_end(key)
            if len(addresses) > MAX_REMEMBERED:
                addresses.popitem(last=False)
            return known
