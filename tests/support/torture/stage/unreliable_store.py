"""An S3 server's bad days: answers that are lost after the write took effect, and 500s and 503s before it and after it."""

import http.client
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from urllib.parse import quote, urlencode

from support.servers.scripted import Answer, Request, s3_error, scripted_server

UPSTREAM_LIMIT_S = 30.0
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "server", "date"}

LOST = "answer lost after the effect"
FAILED_AFTER = "500 after the effect"
BUSY_AFTER = "503 after the effect"
FAILED_BEFORE = "500 before the effect"
BUSY_BEFORE = "503 before the effect"
NONE = ""
HAND = {LOST: 2, FAILED_AFTER: 1, BUSY_AFTER: 1, FAILED_BEFORE: 1, BUSY_BEFORE: 1, NONE: 10}
"""What befalls each sixteen writes, in an order that the seed draws: however few there are, each has its turn."""


class UnreliableStore:
    """Hands requests on. While `is_bad`, writes to logs of tables are answered as the seed has it."""

    def __init__(self, port: int, seed: int) -> None:
        self.is_bad = False
        self.done: Counter[str] = Counter()
        """How often each came to pass."""
        self._port = port
        self._draw = Random(seed)
        self._hand: list[str] = []
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Answer | None:
        fault = self._next(request)
        if fault in (FAILED_BEFORE, BUSY_BEFORE):
            return _error(fault)
        answer = self._handed_on(request)
        if fault == LOST:
            return None
        return answer if fault == NONE else _error(fault)

    def _next(self, request: Request) -> str:
        with self._lock:
            if not self.is_bad or request.method != "PUT" or "/_transaction_log/" not in request.path:
                return NONE
            if not self._hand:
                self._hand = self._draw.sample(list(HAND), counts=list(HAND.values()), k=sum(HAND.values()))
            fault = self._hand.pop()
            self.done[fault] += 1
            return fault

    def _handed_on(self, request: Request) -> Answer:
        """The signature covers the host that the client sees, so headers stay as they are."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=UPSTREAM_LIMIT_S)
        try:
            target = request.path + (f"?{urlencode(request.query, quote_via=quote)}" if request.query else "")
            headers = {name: value for name, value in request.headers.items() if name.lower() != "expect"}
            connection.request(request.method, target, body=request.body, headers=headers)
            answered = connection.getresponse()
            body = answered.read()
            kept = {name: value for name, value in answered.getheaders() if name.lower() not in HOP_BY_HOP}
            if request.method == "HEAD" and (length := answered.getheader("Content-Length")) is not None:
                kept["Content-Length"] = length
            return Answer(answered.status, body, kept)
        finally:
            connection.close()


def _error(fault: str) -> Answer:
    return s3_error(503, "SlowDown") if fault in (BUSY_BEFORE, BUSY_AFTER) else s3_error(500, "InternalError")


@contextmanager
def unreliable_store(port: int, seed: int) -> Iterator[tuple[UnreliableStore, str]]:
    """In front of the server at that port; with the endpoint for clients."""
    store = UnreliableStore(port, seed)
    with scripted_server(store.answer) as endpoint:
        yield store, endpoint
