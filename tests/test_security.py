"""What keeps hostile input harmless: nothing runs it, nothing follows it, nothing lets it grow without end."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from gpudash import share
from gpudash.documents import MEGABYTES as DOCUMENT_MEGABYTES
from tests.test_architecture import ROOT, imported, name, tree
from ui import sign_in

FOLDERS = ("gpudash", "ui", "pages")
SHIPPED = [
    ROOT / "app.py",
    *sorted(path for part in FOLDERS for path in (ROOT / part).rglob("*.py")),
]
NETWORK = {"http", "socket", "requests", "httpx", "aiohttp", "ftplib", "smtplib"}
RUNS_WORDS = {"eval", "exec", "compile", "__import__"}
RUNS_FILES = {"pickle", "marshal", "shelve", "subprocess", "dill", "joblib"}
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def modules(path: Path) -> set[str]:
    """Every module that a file imports, by its whole name."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


def calls(path: Path) -> set[str]:
    """Every function that a file calls by a bare name."""
    nodes = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def test_only_the_refresh_of_prices_asks_the_network():
    asking = [name(path) for path in SHIPPED if imported(path) & NETWORK or "urllib.request" in modules(path)]
    assert asking == ["gpudash/feeds/fetch.py"]
    using = [name(path) for path in SHIPPED if "gpudash.feeds.fetch" in modules(path)]
    assert using == ["gpudash/catalogue_commands.py"]  # `catalogue refresh`, whose addresses are in data/feeds.yaml


@pytest.mark.parametrize("path", SHIPPED, ids=name)
def test_no_code_is_made_of_what_comes_in(path):
    assert not calls(path) & RUNS_WORDS
    assert not imported(path) & RUNS_FILES


def test_uploads_messages_and_links_have_limits():
    assert CONFIG["server"]["maxUploadSize"] <= 100
    assert CONFIG["server"]["maxMessageSize"] <= 50
    assert DOCUMENT_MEGABYTES <= 5
    assert share.TOKEN_CHARACTERS < share.ADDRESS_CHARACTERS <= 60_000
    assert share.DECOMPRESSED_BYTES <= 64_000
    assert CONFIG["client"]["showErrorDetails"] == "none"


@pytest.mark.parametrize("place", ["overview", "brief"])
def test_no_page_takes_a_name_for_html_or_for_a_link(place):
    app = AppTest.from_file("../ui/shell.py", default_timeout=30)
    words = "<script>alert(1)</script>[a](javascript:b)$x$"
    datasets = json.dumps([{"name": words, "size_gb": 10}])
    app.query_params.update({"about.name": words, "about.notes": words, "storage.datasets": datasets})
    app.run()
    if place != "overview":
        app.query_params.clear()
        app = app.switch_page(f"../pages/{place}.py").run()
    assert not app.exception
    assert not [element for element in app.markdown if element.proto.allow_html]
    assert not [element for element in app.get("html") if "alert" in str(element.proto)]
    said = [*app.header, *app.subheader, *app.markdown, *app.caption, *app.error, *app.warning]
    naming = [element.value for element in said if "alert" in element.value]
    assert naming
    assert not [line for line in naming if re.search(r"(?<!\\)[<\[$]", line)]


SECRETS = {"redirect_uri": "http://localhost:8501/oauth2callback", "cookie_secret": "x" * 40, "client_id": "a"}


def test_without_secrets_everybody_may_use_the_dashboard_and_with_them_nobody_sees_it_before_signing_in():
    app = AppTest.from_file("../ui/shell.py", default_timeout=30).run()
    assert app.metric and "sign_out" not in [button.key for button in app.button]
    app = AppTest.from_file("../ui/shell.py", default_timeout=30)
    app.secrets[sign_in.SECTION] = SECRETS
    app.run()
    assert [button.key for button in app.button] == ["sign_in"]
    assert not app.metric and not app.sidebar.children
