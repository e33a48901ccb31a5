"""The server: headers, the routes of an operator and the warm-up. The script that draws is ui/shell.py."""

import gc
from contextlib import asynccontextmanager

import streamlit as st
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gpudash.errors import GpudashError
from gpudash.figures import overview
from gpudash.scenario import Scenario
from gpudash.text import LANGUAGES
from ui import observe, state
from ui.fields import sentence
from ui.literal import literal
from ui.static_files import StaticFiles

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss:; worker-src 'self' blob:; "
    "frame-ancestors 'none'; base-uri 'self'; form-action 'self'; object-src 'none'"
)
# A share link holds the whole scenario, so it must not travel as a referrer.
SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class SecurityHeaders:
    """Adds the headers to every HTTP response; websockets pass through."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        async def send_with_headers(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


async def ready(_request):
    return PlainTextResponse("ready")


def healthy(_request):
    """Not asynchronous, so that calculating does not hold up the sessions."""
    health = observe.health()
    return JSONResponse(health, status_code=200 if health["status"] == "ok" else 503)


def metrics(_request):
    """All counts in Prometheus' text format, those of the Python process included."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


ROUTES = [Route("/readyz", ready), Route("/healthz", healthy), Route("/metrics", metrics)]


def crashed(error: Exception) -> bool:
    """A fault of the program is logged and shown as one sentence; what keeps every page from being drawn says why."""
    observe.fault("page", error)
    text = state.text()
    st.error(literal(sentence(error, text)) if isinstance(error, GpudashError) else text("frame.crashed"))
    return True


@asynccontextmanager
async def warm_up(_app):
    """One answer and its chart fill the caches; freezing what then lives spares every run a full collection.

    Prices that cannot be read do not keep the server from starting: its pages and /healthz say what is wrong.
    """
    observe.start()
    try:
        state.Desk().view(overview.cumulative_cost, Scenario(), LANGUAGES[0])
    except GpudashError as error:
        observe.fault("warm_up", error)
    gc.collect()
    gc.freeze()
    yield


app = st.App(
    "ui/shell.py",
    middleware=[Middleware(SecurityHeaders), Middleware(StaticFiles)],
    routes=ROUTES,
    lifespan=warm_up,
    on_script_error=crashed,
)
