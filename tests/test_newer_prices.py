"""A link keeps the prices of its day for ever; where there are newer ones, a line says what they would change."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudash.catalogue import load_catalogue, snapshots
from gpudash.catalogue_write import offer_rows, write_snapshot
from gpudash.evaluate import evaluate
from gpudash.newer_prices import newer_prices
from gpudash.scenario import Scenario
from gpudash.tables import DATA

ROOT = Path(__file__).resolve().parents[1]
OLD = snapshots()[-1]
DEARER, WITHOUT_WINNER, GONE = "2027-01-11", "2027-02-08", "2027-03-08"
QUESTION = {"workload.model": "llama-3.1-70b", "traffic.peak_requests_per_s": 20, "requirements.countries": "US"}
SETTINGS = [part for path, value in QUESTION.items() for part in ("--set", f"{path}={value}")]
WINNER = evaluate(Scenario().with_values(QUESTION), load_catalogue()).recommendation
PRICES = [name for name in next(iter(offer_rows(OLD).values())) if name.endswith(("_per_hour", "_per_month"))]
PAGE = """
import re, sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("ui/shell.py", default_timeout=60)
app.query_params.update({"lang": sys.argv[2], "v": "1", **dict(pair.split("=") for pair in sys.argv[1].split("&"))})
app.run()
assert not app.exception
print(app.metric[0].value, *(info.value for info in app.info), sep="|")
if app.button:
    app.query_params.clear()
    app.button(key="overview.newest").click().run()
    print(app.metric[0].value, *(info.value for info in app.info), sep="|")
"""


def scaled(row: dict[str, str], factor: float) -> dict[str, str]:
    return row | {name: repr(float(row[name]) * factor) for name in PRICES if row[name]}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A copy of the program whose catalogue has got three more snapshots since."""
    root = tmp_path_factory.mktemp("program")
    for name in ("gpudash", "ui", "pages", "assets"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "data").mkdir()
    for path in DATA.iterdir():
        if path.name != "prices":
            (root / "data" / path.name).symlink_to(path)
    shutil.copytree(DATA / "prices", root / "data" / "prices")
    offers = list(offer_rows(OLD).values())
    winner = (WINNER.provider, WINNER.instance)
    later = {
        DEARER: [row if "GB200" in row["gpu"] else scaled(row, 1.05) for row in offers],  # it stays below the limit
        WITHOUT_WINNER: [row for row in offers if (row["provider"], row["instance"]) != winner],
        GONE: [row for row in offers if row["gpu"] in ("T4", "P4")],
    }
    for day, rows in later.items():
        faults = write_snapshot(rows, day, base=OLD, title=day, what_we_did=["a test"], data=root / "data")
        assert faults == ()
    return root


def only(program, *days):
    """The catalogue as it was when these were its snapshots."""
    kept = program / "data" / "prices"
    stored = program / "stored"
    stored.mkdir(exist_ok=True)
    for day in (DEARER, WITHOUT_WINNER, GONE):
        here, there = kept / day, stored / day
        if day in days and there.exists():
            there.rename(here)
        elif day not in days and here.exists():
            here.rename(there)


def run(program, *arguments, module=("-m", "gpudash")):
    done = subprocess.run(
        [sys.executable, *module, *arguments], check=False, cwd=program, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done


def answered(program, day):
    return json.loads(run(program, "evaluate", *SETTINGS, "--set", f"catalogue.snapshot={day}").stdout)


LINK = f"?v=1&{'&'.join(f'{path}={value}' for path, value in QUESTION.items())}&catalogue={OLD}"


def test_with_the_newest_prices_there_is_nothing_to_say():
    assert newer_prices(evaluate(Scenario(), load_catalogue())) is None


def test_opening_an_old_link_keeps_its_numbers_and_says_what_the_same_choice_costs_now(program):
    only(program, DEARER)
    then, now = answered(program, OLD)["recommendation"], answered(program, DEARER)["recommendation"]
    assert then["monthly_usd"] == pytest.approx(WINNER.monthly_usd)
    assert now["offer"] == then["offer"]
    opened = run(program, "open", LINK)
    assert json.loads(opened.stdout)["catalogue"]["snapshot"] == OLD
    rise = f"{(now['monthly_usd'] / then['monthly_usd'] - 1) * 100:.1f}".removesuffix(".0")
    assert opened.stderr == f"With the prices of 11 January 2027: +{rise}% a month, same choice.\n"


def test_where_the_choice_would_be_another_it_is_named(program):
    only(program, DEARER, WITHOUT_WINNER)
    now = answered(program, WITHOUT_WINNER)["recommendation"]
    assert now["offer"] != WINNER.id
    said = run(program, "open", LINK, "--language", "zh").stderr
    assert said.startswith("按 2027年2月8日的价格，选择会变为：")
    assert all(now[name] in said for name in ("provider", "instance", "region"))


def test_where_nothing_is_left_that_is_said_too(program):
    only(program, DEARER, WITHOUT_WINNER, GONE)
    assert answered(program, GONE)["recommendation"] is None
    assert "nothing would meet all wishes any more" in run(program, "open", LINK).stderr


@pytest.mark.parametrize("ending", [".md", ".json", ".csv"])
def test_the_brief_of_an_old_link_keeps_its_numbers_and_has_the_line(program, ending):
    only(program, DEARER)
    run(program, "brief", "--link", LINK, "-o", f"brief{ending}")
    content = (program / f"brief{ending}").read_text(encoding="utf-8-sig")
    assert "With the prices of 11 January 2027" in content
    assert "30 November 2026" in content or OLD in content


@pytest.mark.parametrize("language, line", [("en", "same choice"), ("zh", "选择不变")])
def test_a_page_opened_from_an_old_link_has_the_line_and_the_way_to_the_newest_prices(program, language, line):
    only(program, DEARER)
    done = run(program, LINK.removeprefix("?v=1&"), language, module=("-c", PAGE))
    opened, updated = done.stdout.splitlines()[-2:]
    assert line in opened and "|" not in updated
    assert opened.partition("|")[0] != updated
