"""Two replicas behind nginx as in deploy/nginx: a link works on either, and one that dies takes nothing with it."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect
from test_browser import CARD, PEAK, expect_answer, fill, result_of

import app
from bench.browser import PATIENCE_MS
from bench.server import ROOT, Server, free_port, running, until_ready
from gpudash.figures.overview import answer
from gpudash.text import Text

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
STREAM = "/_stcore/stream"
COOKIE = "gpudash_replica"

pytestmark = [
    pytest.mark.replicas,
    pytest.mark.skipif(NGINX is None, reason="no nginx on this machine; make replicas installs it where it may"),
]


@dataclass(frozen=True)
class Proxy:
    """nginx with the configuration of deploy/nginx, and what it logged."""

    address: str
    log: Path

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def replica_of(self, visitor: str) -> int:
        """The port of the replica that serves a visitor with this cookie."""
        get(f"{self.address}/{visitor}", visitor)
        (line,) = self.logged(f"/{visitor}")
        return int(line["replica"].rpartition(":")[2])

    def logged(self, path: str) -> list[dict]:
        """What was logged under a path; a line may be written a moment after its answer was read."""
        give_up = time.monotonic() + PATIENCE_MS / 1000
        while time.monotonic() < give_up:
            lines = [line for line in self.lines() if line["path"].startswith(path)]
            if lines:
                return lines
            time.sleep(0.05)
        raise TimeoutError(path)


@contextmanager
def proxied(servers: list[Server], folder: Path) -> Iterator[Proxy]:
    """nginx in front of these servers; only its address and theirs differ from what is deployed."""
    port, configuration, log = free_port(), folder / "nginx", folder / "access.log"
    shutil.copytree(ROOT / "deploy" / "nginx", configuration)
    (configuration / "listen.conf").write_text(f"listen 127.0.0.1:{port};", encoding="utf-8")
    replicas = configuration / "replicas.conf"
    ports = iter(servers)
    named = re.sub(r"replica-\d:8501", lambda _: f"127.0.0.1:{next(ports).port}", replicas.read_text(encoding="utf-8"))
    replicas.write_text(named, encoding="utf-8")
    command = [NGINX, "-p", str(folder), "-c", str(configuration / "nginx.conf"), "-e", "stderr", "-g", "daemon off;"]
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.DEVNULL)
    try:
        until_ready(f"http://127.0.0.1:{port}")
        yield Proxy(f"http://127.0.0.1:{port}", log)
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture
def replicas() -> Iterator[list[Server]]:
    with running() as one, running() as other:
        yield [one, other]


@pytest.fixture
def proxy(replicas, tmp_path) -> Iterator[Proxy]:
    with proxied(replicas, tmp_path) as nginx:
        yield nginx


def get(address: str, visitor: str = ""):
    cookie = {"Cookie": f"{COOKIE}={visitor}"} if visitor else {}
    return urllib.request.urlopen(urllib.request.Request(address, headers=cookie), timeout=10)


def visitor_of(proxy: Proxy, server: Server) -> str:
    """A cookie that leads to this replica."""
    return next(word for word in (uuid4().hex for _ in range(100)) if proxy.replica_of(word) == server.port)


def visit_as(page, proxy: Proxy, visitor: str) -> None:
    page.context.clear_cookies()
    page.context.add_cookies([{"name": COOKIE, "value": visitor, "url": proxy.address}])


def test_a_link_and_a_download_are_the_same_through_either_replica(page, proxy, replicas):
    for server in replicas:
        visit_as(page, proxy, visitor_of(proxy, server))
        before = len(proxy.lines())
        page.goto(f"{proxy.address}/?v=1&traffic.peak_requests_per_s=20&lang=en")
        expect_answer(page, "en", **{"traffic.peak_requests_per_s": 20})
        page.goto(f"{proxy.address}/brief?v=1&traffic.peak_requests_per_s=20&lang=en")
        with page.expect_download() as download:
            page.get_by_role("button", name=Text("en")("brief_page.file.md")).click()
        written = Path(download.value.path()).read_text(encoding="utf-8")
        assert answer(result_of(**{"traffic.peak_requests_per_s": 20}), Text("en"))[0] in written
        served = [line for line in proxy.lines()[before:] if line["path"] != STREAM]  # logged when it ends
        assert {line["replica"] for line in served} == {f"127.0.0.1:{server.port}"}


def test_a_price_sheet_can_be_uploaded_through_either_replica(page, proxy, replicas):
    sheet = {"name": "quote.csv", "mimeType": "text/csv", "buffer": b"Machine,Card,Cards,Price\nh200.4x,H200 SXM,4,6\n"}
    for server in replicas:
        visit_as(page, proxy, visitor_of(proxy, server))
        page.goto(f"{proxy.address}/catalogue?lang=en")
        page.get_by_text(Text("en")("own_prices.title")).click()
        page.locator("input[type=file]").set_input_files(sheet)
        expect(page.get_by_text("Still to be answered")).to_be_visible()
        upload = proxy.logged("/_stcore/upload_file/")[-1]
        assert (upload["status"], upload["replica"]) == (204, f"127.0.0.1:{server.port}")


def test_a_replica_that_is_killed_during_use_loses_nothing(page, proxy, replicas):
    first, _ = replicas
    visit_as(page, proxy, visitor_of(proxy, first))
    page.goto(f"{proxy.address}/?lang=en")
    expect_answer(page, "en")
    fill(page, PEAK, "40")
    expect_answer(page, "en", **{"traffic.peak_requests_per_s": 40})
    expect(page).to_have_url(re.compile(r"traffic\.peak_requests_per_s=40"))

    os.kill(first.process_id, signal.SIGKILL)
    page.reload()
    expect_answer(page, "en", **{"traffic.peak_requests_per_s": 40})
    expect(page.locator(PEAK)).to_have_value("40")
    fill(page, PEAK, "60")
    expect_answer(page, "en", **{"traffic.peak_requests_per_s": 60})


def test_whoever_goes_on_without_reloading_loses_one_change_at_most(page, proxy, replicas):
    first, _ = replicas
    visit_as(page, proxy, visitor_of(proxy, first))
    page.goto(f"{proxy.address}/?lang=en")
    fill(page, PEAK, "40")
    expect_answer(page, "en", **{"traffic.peak_requests_per_s": 40})

    with page.expect_websocket():  # the browser finds the other replica by itself
        os.kill(first.process_id, signal.SIGKILL)
    fill(page, PEAK, "60")  # may come too early: the new session begins at the address, which stands at 40
    page.wait_for_timeout(2000)
    fill(page, PEAK, "70")
    expect_answer(page, "en", **{"traffic.peak_requests_per_s": 70})


def test_without_any_replica_a_visitor_reads_that_the_inputs_are_kept(page, proxy, replicas):
    for server in replicas:
        os.kill(server.process_id, signal.SIGKILL)
    answered = page.goto(f"{proxy.address}/?v=1&traffic.peak_requests_per_s=20")
    assert answered.status == 503
    expect(page.locator("body")).to_contain_text("Your inputs are in the address")
    assert "traffic.peak_requests_per_s=20" in page.url


def test_the_proxy_sends_each_security_header_once_and_keeps_what_is_for_operators_to_itself(proxy):
    headers = get(proxy.address).headers
    assert headers.get_all("Content-Security-Policy") == [app.CONTENT_SECURITY_POLICY]
    for name, value in app.SECURITY_HEADERS:
        assert headers.get_all(name.decode()) == [value.decode()]
    assert "HttpOnly" in headers["Set-Cookie"]
    assert headers["Server"] == "nginx"
    for path in ("/metrics", "/healthz", "/_stcore/metrics"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(proxy.address + path)


def test_the_log_of_the_proxy_keeps_no_links(page, proxy):
    page.goto(f"{proxy.address}/?v=1&about.name=Merger&lang=en")
    expect(page.locator(CARD)).to_be_visible()
    assert "Merger" not in proxy.log.read_text(encoding="utf-8")
