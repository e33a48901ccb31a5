"""The dashboard on a machine that lacks something: its pages are drawn, or say in one sentence what is wrong."""

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect
from test_browser import expect_answer

from bench.server import ROOT, running
from gpudash import load_catalogue
from gpudash.text import Text

PARTS = ("app.py", "ui", "pages", "gpudash", "data", "assets", ".streamlit")
ENGLISH = Text("en")


@pytest.fixture
def copy(tmp_path) -> Path:
    """The program with data of its own that may be broken."""
    folder = tmp_path / "program"
    for name in PARTS:
        place = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        folder.mkdir(exist_ok=True)
        place(ROOT / name, folder / name)
    return folder


def test_changed_prices_are_named_on_every_page_and_in_the_health_check(page, copy):
    with (copy / "data" / "prices" / load_catalogue().snapshot / "offers.csv").open("a", encoding="utf-8") as file:
        file.write("\n")
    with running(copy) as server:
        with pytest.raises(urllib.error.HTTPError) as failing:
            urllib.request.urlopen(f"{server.address}/healthz", timeout=30)
        assert failing.value.code == 503
        assert "offers.csv has changed" in json.load(failing.value)["because"]
        for place in ("", "tco", "brief"):
            page.goto(f"{server.address}/{place}?lang=en")
            expect(page.get_by_role("alert")).to_contain_text("offers.csv has changed")


def test_without_its_fonts_the_pdf_is_refused_on_the_page_and_the_other_files_stay(page, copy):
    (copy / "data" / "fonts" / "NotoSansSC-Regular.otf").unlink()
    with running(copy) as server:
        page.goto(f"{server.address}/brief?lang=en")
        expect(page.get_by_text("NotoSansSC-Regular.otf")).to_be_visible()
        expect(page.get_by_role("button", name=ENGLISH("brief_page.file.pdf"))).to_have_count(0)
        with page.expect_download() as download:
            page.get_by_role("button", name=ENGLISH("brief_page.file.xlsx")).click()
        assert Path(download.value.path()).stat().st_size > 0


@contextmanager
def small_disk() -> Iterator[None]:
    """What is started in here can write no file beyond 2,000 bytes, as if the disk were full."""
    resource = pytest.importorskip("resource", reason="only POSIX systems limit the size of files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_with_a_full_disk_a_read_only_home_and_no_time_zones_a_visitor_notices_nothing(page, tmp_path):
    machine = {"HOME": "/proc", "TZ": "Nowhere/City", "PYTHONTZPATH": "", "TMPDIR": "/proc"}
    log = tmp_path / "log"
    with ExitStack() as running_server:
        with small_disk():
            server = running_server.enter_context(running(log=log, **machine))
        for peak in (20, 21, 22, 23, 24):
            page.goto(f"{server.address}/?v=1&traffic.peak_requests_per_s={peak}&lang=en")
            expect_answer(page, "en", **{"traffic.peak_requests_per_s": peak})
        page.goto(f"{server.address}/brief?v=1&lang=en")
        with page.expect_download() as download:
            page.get_by_role("button", name=ENGLISH("brief_page.file.pdf")).click()
        assert Path(download.value.path()).read_bytes().startswith(b"%PDF")
        assert log.stat().st_size == 2000
