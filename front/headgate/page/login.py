"""The form in which a user enters the token; the browser then gets a cookie for it."""

import asyncio
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from headgate.settings.token import Token
from headgate.web.guard import LOGIN_PATH, cookie_name

COOKIE_AGE_S = 30 * 24 * 3600
MAX_FORM_BYTES = 4 << 10
FORM_WITHIN_S = 5.0


async def log_in(request: Request, token: Token | None) -> Response:
    """Redirects to the page with a cookie, or back to the form. A foreign script can't read the answer or guess the
    token.
    """
    try:
        body = await asyncio.wait_for(_body(request), FORM_WITHIN_S)
    except (TimeoutError, ClientDisconnect):
        return PlainTextResponse("The form didn't come to its end in time.\n", status_code=408)
    if body is None:
        return PlainTextResponse("The form is too long.\n", status_code=413)
    given = parse_qs(body.decode("utf-8", "replace"), max_num_fields=8).get("token", [""])[0].strip()
    if token is None:
        return RedirectResponse("/", status_code=303)
    if not token.is_(given):
        return RedirectResponse(f"{LOGIN_PATH}#wrong", status_code=303)
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(
        cookie_name(request.scope), token.cookie, max_age=COOKIE_AGE_S, httponly=True, samesite="strict", path="/"
    )
    return answer


async def _body(request: Request) -> bytes | None:
    """The body; None if it is longer than any form of ours."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM_BYTES:
            return None
    return body
