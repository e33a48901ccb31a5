"""The framework's own scripts and styles, sent compressed, and the large one that draws charts asked for at once.

A browser needs 8 MB of them before it can show its first page; compressed they are less than 3.
"""

import gzip
from functools import cache
from pathlib import Path

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(st.__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css"}
FILES = {f"/{path.relative_to(FOLDER).as_posix()}": path for path in FOLDER.rglob("*") if path.suffix in TYPES}
# Their names hold a hash of their content.
KEPT = {"cache-control": "public,immutable,max-age=31536000", "content-encoding": "gzip", "vary": "accept-encoding"}
CHARTS = next((name for name in FILES if Path(name).name.startswith("PlotlyChart.")), None)
PRELOAD = [(b"link", f"<.{CHARTS}>; rel=modulepreload".encode())] if CHARTS else []


class StaticFiles:
    """Answers for the scripts and styles where the browser takes gzip; tells every page which script it will need."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request = Request(scope)
        takes_gzip = "gzip" in request.headers.get("accept-encoding", "") and "range" not in request.headers
        if request.method == "GET" and takes_gzip and scope["path"] in FILES:
            path = FILES[scope["path"]]
            content = await run_in_threadpool(_compressed, path)
            return await Response(content, headers=KEPT, media_type=TYPES[path.suffix])(scope, receive, send)

        async def send_with_preload(message):
            headers = message.get("headers", ())
            if message["type"] == "http.response.start" and (b"content-type", b"text/html; charset=utf-8") in headers:
                message["headers"] = [*headers, *PRELOAD]
            await send(message)

        await self.app(scope, receive, send_with_preload)


@cache
def _compressed(path: Path) -> bytes:
    """Compressed once; all files together would take less than 10 MB."""
    return gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)
