"""An HTTP server whose answers are a function in the test: for answers that no real server gives on demand."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def s3_error(status: int, code: str, *, region: str = "", headers: Mapping[str, str] | None = None) -> Answer:
    extra = f"<Region>{region}</Region>" if region else ""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>scripted</Message>{extra}</Error>"
    return Answer(status, body.encode(), {"Content-Type": "application/xml", **(headers or {})})


@contextlib.contextmanager
def scripted_server(answer: Callable[[Request], Answer | None]) -> Iterator[str]:
    """The endpoint. `answer` is called on the server's threads; where it gives none, the connection is cut."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            given = answer(Request(self.command, parts.path, query, dict(self.headers.items()), body))
            if given is None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response_only(given.status)
            if "Date" not in given.headers:
                self.send_header("Date", self.date_time_string())
            for name, value in given.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in given.headers:  # the answer to HEAD tells what it doesn't bring
                self.send_header("Content-Length", str(len(given.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(given.body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle

        def log_message(self, *texts: object) -> None:
            """Requests are the test's business."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="scripted-server")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
