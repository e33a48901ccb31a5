"""A fresh server for a journey, and the browser that the machine has; without one the journeys are skipped."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.browser import CHROMIUM, FLAGS, PATIENCE_MS
from bench.server import running


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine; set CHROMIUM=/path"))


@pytest.fixture(scope="session")
def browser_type_launch_args():
    return {"executable_path": CHROMIUM, "args": list(FLAGS)}


@pytest.fixture
def page(page: Page) -> Page:
    """A page of the browser that is waited for as long as a busy machine may take."""
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    return page


@pytest.fixture
def server():
    """The address of a server that nobody has visited yet."""
    with running() as fresh:
        yield fresh.address
