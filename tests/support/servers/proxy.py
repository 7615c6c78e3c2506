"""A TCP proxy before a server that loses or cuts answers on demand, after the server has done the work."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

CHUNK_BYTES = 65536


class Proxy:
    """Passes everything through until told otherwise. `lose_answer` and `cut_answer` look at the bytes of a request."""

    def __init__(self, port: int) -> None:
        self._upstream = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.lost = 0
        self.passed: list[bytes] = []
        """The beginnings of requests whose answers went down: for the message of a test that fails."""
        self.lose_answer: Callable[[bytes], bool] = lambda request: False
        self.cut_answer_to: Callable[[bytes], int | None] = lambda request: None
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, name="proxy-accept")]
        self._threads[0].start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            still_open = list(self._open)
        for connection in still_open:
            self._hang_up(connection)
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), name="proxy-connection")
            with self._lock:
                self._open.append(client)
                self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        """One connection: requests go up on this thread, answers come down on another."""
        request = bytearray()
        with client, socket.create_connection(self._upstream) as server:
            with self._lock:
                self._open.append(server)
            down = threading.Thread(target=self._answers, args=(server, client, request), name="proxy-answers")
            down.start()
            with contextlib.suppress(OSError):
                while data := client.recv(CHUNK_BYTES):
                    request += data
                    server.sendall(data)
            self._hang_up(server)
            down.join(10)

    def _answers(self, server: socket.socket, client: socket.socket, request: bytearray) -> None:
        """The first byte of an answer shows that the server has done its work."""
        sent = 0
        with contextlib.suppress(OSError):
            while data := server.recv(CHUNK_BYTES):
                asked = bytes(request)
                limit = self.cut_answer_to(asked)
                if self.lose_answer(asked):
                    self.lost += 1
                    break
                if limit is not None:
                    client.sendall(data[: max(0, limit - sent)])
                    sent += len(data)
                    if sent >= limit:
                        self.lost += 1
                        break
                    continue
                # Before the answer goes down: whoever has it may ask again at once.
                self.passed.append(asked[:200])
                request.clear()
                client.sendall(data)
        self._hang_up(client)

    @staticmethod
    def _hang_up(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxy_before(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
