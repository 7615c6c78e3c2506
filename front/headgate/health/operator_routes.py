"""The HTTP routes for operators and their tools: /healthz, /readyz and /metrics.

Text for people unless JSON is requested. Metrics name no tables; the reasons of /readyz may, and the addresses of bus
and stores.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from headgate.health.judgement import Healthy, Unready
from headgate.health.measuring import CONTENT_TYPE, PrometheusMeasures
from headgate.health.monitoring import Monitor, PartHealth

ALIVE, READY, METRICS = "/healthz", "/readyz", "/metrics"
"""Nobody logs in for these."""
VITAL = (ALIVE, READY)
"""By these it is decided whether a process is restarted, so that they are answered whatever else is asked."""
_UNAVAILABLE = 503


def operator_routes(monitor: Monitor, measures: PrometheusMeasures) -> list[Route]:
    # Coroutines need no thread, and all threads may be busy with other requests. These only read memory.
    async def alive(request: Request) -> Response:
        health = monitor.health()
        is_well = all(part.is_alive for part in health.values())
        stuck = [
            f"{name}: its loop has stood still for {_age(part):.1f} s"
            for name, part in health.items()
            if not part.is_alive
        ]
        return _answer(request, is_well, "alive", "not alive", {}, stuck)

    async def ready(request: Request) -> Response:
        health = monitor.health()
        is_well = all(isinstance(part.verdict, Healthy) for part in health.values())
        parts = {name: _told(part) for name, part in health.items()}
        return _answer(request, is_well, "ready", "not ready", {"parts": parts}, _lines(health))

    def told_metrics(request: Request) -> Response:
        return Response(measures.text(), media_type=CONTENT_TYPE)

    return [Route(ALIVE, alive), Route(READY, ready), Route(METRICS, told_metrics)]


def _answer(
    request: Request, is_well: bool, well: str, unwell: str, details: Mapping[str, Any], lines: list[str]
) -> Response:
    status = 200 if is_well else _UNAVAILABLE
    word = well if is_well else unwell
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"status": word, **details}, status)
    return PlainTextResponse("\n".join([word, *lines]) + "\n", status)


def _lines(health: Mapping[str, PartHealth]) -> list[str]:
    lines: list[str] = []
    for name, part in health.items():
        match part.verdict:
            case Healthy(notes):
                pass
            case Unready(reasons, notes):
                lines += [f"{name}: {reason.said}" for reason in reasons]
            case _:
                assert_never(part.verdict)
        lines += [f"{name}, by the way: {note}" for note in notes]
    return lines


def _told(part: PartHealth) -> dict[str, Any]:
    match part.verdict:
        case Healthy(notes):
            reasons: list[dict[str, str]] = []
        case Unready(found, notes):
            reasons = [{"code": reason.code.value, "reason": reason.said} for reason in found]
        case _:
            assert_never(part.verdict)
    return {"ready": not reasons, "alive": part.is_alive, "reasons": reasons, "notes": list(notes)}


def _age(part: PartHealth) -> float:
    return part.facts.now_s - part.facts.round_s
