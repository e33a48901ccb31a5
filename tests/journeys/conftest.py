"""A fresh server for a journey, and the browser that the machine has; without one the journeys are skipped."""

from pathlib import Path

import pytest

from bench.browser import CHROMIUM, FLAGS
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
def server():
    """The address of a server that nobody has visited yet."""
    with running() as fresh:
        yield fresh.address
