"""Who is let in, by which name and with which token, and the headers that every answer carries."""

import http.client
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from headgate.settings.listen_address import ListenAddress
from headgate.settings.token import Token
from headgate.web.guard import HEADERS, Guarded, cookie_name
from headgate.web.server import serving_web

HERE = ListenAddress("127.0.0.1", 0)
EVERYWHERE = ListenAddress("0.0.0.0", 0)
TOKEN = Token("a-token-of-some-length")


async def told(_: Request) -> Response:
    return PlainTextResponse("told")


async def kept(_: Request) -> Response:
    return PlainTextResponse("kept", headers={"Cache-Control": "no-cache"})


APP = Starlette(routes=[Route("/", told), Route("/kept", kept), Route("/healthz", told), Route("/login", told)])


@contextmanager
def guarded(listen: ListenAddress, token: Token | None) -> Iterator[ListenAddress]:
    with serving_web(Guarded(APP, listen, token, open_paths=("/healthz",)), listen) as address:
        yield address


def get(
    address: ListenAddress, path: str = "/", headers: Mapping[str, str] | None = None
) -> tuple[int, http.client.HTTPMessage]:
    with closing(http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)) as connection:
        connection.request("GET", path, headers=dict(headers or {}))
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:8080", "127.8.8.8", "[::1]:80"])
def test_on_loopback_names_of_this_machine_are_answered(host: str) -> None:
    with guarded(HERE, None) as address:
        assert get(address, headers={"Host": host})[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "localhost.evil.example", "192.168.0.7", "[", "", "localhost@evil.example"],
)
def test_on_loopback_other_names_are_refused_whatever_is_asked_for(host: str) -> None:
    with guarded(HERE, None) as address:
        assert [get(address, path, {"Host": host})[0] for path in ("/", "/healthz", "/login")] == [421] * 3


def test_beyond_loopback_nothing_is_served_without_a_token() -> None:
    with pytest.raises(ValueError, match="no token is asked for"):
        Guarded(APP, EVERYWHERE, None)


def test_a_token_opens_by_bearer_and_open_paths_need_none() -> None:
    with guarded(EVERYWHERE, TOKEN) as address:
        assert get(address, headers={"Authorization": f"Bearer {TOKEN.text}"})[0] == 200
        assert get(address, headers={"Authorization": f"bearer  {TOKEN.text} "})[0] == 200
        assert [get(address, path)[0] for path in ("/healthz", "/login", "/", "/healthz/", "/kept")] == [
            200,
            200,
            401,
            401,
            401,
        ]


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer a-token-of-some-lengt"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer \xe9\xff"},
        {"Authorization": f"Basic {TOKEN.text}"},
        {"Cookie": f"headgate_page_1={TOKEN.cookie}"},
        {"Cookie": "; =;;"},
    ],
)
def test_what_is_not_the_token_is_refused_and_told_how_to_ask(headers: dict[str, str]) -> None:
    with guarded(EVERYWHERE, TOKEN) as address:
        status, answered = get(address, headers=headers)
    assert (status, answered["WWW-Authenticate"]) == (401, 'Bearer realm="headgate"')


def test_the_cookie_opens_and_the_token_is_no_cookie() -> None:
    with guarded(EVERYWHERE, TOKEN) as address:
        name = cookie_name({"server": ("", address.port)})
        assert get(address, headers={"Cookie": f"other=1; {name}={TOKEN.cookie}"})[0] == 200
        assert get(address, headers={"Cookie": f"{name}={TOKEN.text}"})[0] == 401
    assert TOKEN.text not in TOKEN.cookie
    assert TOKEN.text not in repr(TOKEN)


def test_a_browser_without_a_token_is_sent_to_the_login() -> None:
    with guarded(EVERYWHERE, TOKEN) as address:
        status, headers = get(address, headers={"Accept": "text/html,*/*;q=0.8"})
    assert (status, headers["Location"]) == (303, "/login")


def test_a_token_that_was_chosen_is_asked_for_on_loopback_too() -> None:
    with guarded(HERE, TOKEN) as address:
        assert get(address)[0] == 401


@pytest.mark.parametrize("path", ["/", "/kept", "/missing"])
def test_every_answer_carries_the_headers_that_guard_it(path: str) -> None:
    with guarded(HERE, None) as address:
        _, headers = get(address, path)
    assert {name: headers[name] for name in HEADERS} == dict(HEADERS)
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == ("no-cache" if path == "/kept" else "no-store")
    assert headers["Server"] is None
