"""`headgate health URL`: asks a process for its health. It imports almost nothing, because it runs every few seconds."""

import socket
import sys

TIMEOUT_S = 5.0
MAX_ANSWER_BYTES = 1 << 20
READY = "/readyz"
USAGE = "health takes an address such as http://127.0.0.1:8080/readyz"


def ask_health(url: str) -> int:
    """Print the answer; 0 if the process is healthy, 1 if it isn't or doesn't answer, 2 for an invalid address.

    Plain HTTP, because the check runs on the same machine.
    """
    scheme, there, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    host, _, port = authority.rpartition(":")
    if scheme != "http" or not there or not host or not (port.isascii() and port.isdigit()):
        print(f"{url!r} is no address of a process: {USAGE}", file=sys.stderr)  # noqa: T201
        return 2
    try:
        status, said = _answer(host.strip("[]"), int(port), authority, slash + path if slash and path else READY)
    except (OSError, ValueError) as error:
        print(f"{url} doesn't answer: {error}. Does the process run, and listen there?", file=sys.stderr)  # noqa: T201
        return 1
    print(said)  # noqa: T201
    return 0 if status == 200 else 1


def _answer(host: str, port: int, authority: str, path: str) -> tuple[int, str]:
    request = f"GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((host, port), TIMEOUT_S) as connection:
        connection.sendall(request.encode("ascii"))
        answer = b""
        while (chunk := connection.recv(65_536)) and len(answer) < MAX_ANSWER_BYTES:
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/"):
        raise ValueError("what answers there speaks no HTTP")
    return int(words[1]), body.decode(errors="replace").strip()
