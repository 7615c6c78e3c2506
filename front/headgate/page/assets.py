"""The page's own files: read once from the package, and served from memory. They contain no user data."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

_KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
ASK_AGAIN = "no-cache"
"""Browsers keep them, and ask whether they are still the same."""


@dataclass(frozen=True, slots=True)
class Asset:
    kind: str
    body: bytes
    tag: str

    def answer(self, request: Request) -> Response:
        headers = {"ETag": self.tag, "Cache-Control": ASK_AGAIN}
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self.body, headers=headers, media_type=self.kind)


def read_assets() -> dict[str, Asset]:
    """The files by name."""
    found: dict[str, Asset] = {}
    for file in files("headgate.page").joinpath("static").iterdir():
        kind = _KINDS.get(file.name.rpartition(".")[2])
        if kind is not None:
            body = file.read_bytes()
            found[file.name] = Asset(kind, body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    return found
