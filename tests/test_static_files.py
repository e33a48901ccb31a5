"""The framework's scripts arrive compressed, unchanged, and the one that draws charts is asked for with the page."""

import gzip
import re
from urllib.request import Request, urlopen

import pytest

from bench.server import running


@pytest.fixture(scope="module")
def server():
    with running() as fresh:
        yield fresh.address


def fetched(address: str, **headers: str):
    """Headers and content of an answer."""
    with urlopen(Request(address, headers=headers)) as answer:
        return answer.headers, answer.read()


def test_every_page_names_the_script_of_the_charts_and_the_server_has_it(server):
    headers, _ = fetched(f"{server}/tco")
    name = re.fullmatch(r"<\./(static/js/PlotlyChart\.[\w-]+\.js)>; rel=modulepreload", headers["link"]).group(1)
    headers, script = fetched(f"{server}/{name}")
    assert "javascript" in headers["content-type"]
    assert b"plotly" in script


def test_a_compressed_script_is_the_same_script_and_kept_by_the_browser(server):
    _, page = fetched(server)
    for name in re.findall(r'src="\./(static/js/[^"]+)"', page.decode()):
        _, plain = fetched(f"{server}/{name}")
        headers, packed = fetched(f"{server}/{name}", **{"Accept-Encoding": "gzip, br"})
        assert headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed) == plain
        assert len(packed) < len(plain) / 2
        assert "immutable" in headers["cache-control"]
        assert headers["content-security-policy"]
