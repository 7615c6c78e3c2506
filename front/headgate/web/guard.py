"""The access rules for everything that is served over HTTP, and the headers that restrict browsers.

On a loopback address, every user of this machine has access, by a name of this machine. On other addresses, or if a
token is set, a token is required: as `Authorization: Bearer`, or as the cookie from the login form.
"""

from collections.abc import Collection, Mapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.settings.listen_address import ListenAddress
from headgate.settings.token import Token

LOGIN_PATH = "/login"
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOT_KEPT = "no-store"
"""For every answer that says nothing else of how long it may be kept."""


class Guarded:
    """An application behind these rules. Everybody who reaches this server may use `open_paths` and the login."""

    def __init__(
        self, app: ASGIApp, listen: ListenAddress, token: Token | None, open_paths: Collection[str] = ()
    ) -> None:
        if token is None and not listen.is_loopback:
            raise ValueError(f"{listen} is reached by others than this machine, and no token is asked for")
        self._app = app
        self._listen = listen
        self._token = token
        self._open = frozenset((*open_paths, LOGIN_PATH))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", NOT_KEPT)
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer for a request without access; None for one with access."""
        headers = Headers(scope=scope)
        if self._listen.is_loopback and not _names_this_machine(headers.get("host", ""), self._listen):
            # A foreign site whose name resolves to 127.0.0.1 would read this page with its visitor's browser.
            return PlainTextResponse(
                "This page is asked for by a name that is not this machine's. Open it as http://127.0.0.1 or"
                " http://localhost with its port, or let the proxy in front of it send one of these as Host.\n",
                status_code=421,
            )
        if self._token is None or scope["path"] in self._open or self._admits(headers, scope):
            return None
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            return RedirectResponse(LOGIN_PATH, status_code=303)
        return PlainTextResponse(
            "A token is asked for: send it as Authorization: Bearer TOKEN, or log in with a browser.\n",
            status_code=401,
            headers={"WWW-Authenticate": 'Bearer realm="headgate"'},
        )

    def _admits(self, headers: Headers, scope: Scope) -> bool:
        assert self._token is not None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._token.is_(given.strip())
        kept = _cookie(headers.get("cookie", ""), cookie_name(scope))
        return kept is not None and self._token.is_cookie(kept)


def cookie_name(scope: Scope) -> str:
    """The cookie's name includes the port, because browsers share cookies between the ports of a machine."""
    return f"headgate_page_{(scope.get('server') or ('', 0))[1]}"


def _cookie(header: str, name: str) -> str | None:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


def _names_this_machine(host: str, listen: ListenAddress) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name in ("localhost", listen.host):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
