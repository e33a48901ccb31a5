"""Prices of one's own on the Catalogue page: asked about, read, used on every page of this session and of no other."""

import re

import pytest
from test_pages import opened, shown

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.catalogue_import import import_offers
from gpudash.figures.overview import answer
from gpudash.text import LANGUAGES, Text

SHEET = b"Machine,Card,Cards,Price\nh200.4x,H200 SXM,4,6.00\njunk,H999,1,2\nl4.1x,L4,1,0.35\n"
QUESTION = {"workload.model": "llama-3.1-70b", "traffic.peak_requests_per_s": "20"}
MAPPING = {"instance": "Machine", "gpu": "Card", "gpus_per_server": "Cards", "price": "Price"}
ANSWERS = {
    "price_unit": "server",
    "period": "hour",
    "currency": "EUR",
    "term": "on_demand",
    "provider": "Own Cloud",
    "region": "hall-1",
    "as_of": "2026-11-01",
    "kind": "specialist",
}
REPORT = import_offers(SHEET, "quote.csv", load_catalogue(), mapping=MAPPING, **ANSWERS)


def catalogue_page(language="en", **address):
    """The page with the fold for own prices open, as for whoever opened a link that names a sheet."""
    return opened("catalogue", language, **{"v": "1", **QUESTION, "catalogue.own_sheet": REPORT.sheet, **address})


def uploaded(app, content=SHEET, name="quote.csv"):
    return app.file_uploader(key="own_prices.file").set_value((name, content, "text/csv")).run()


def imported(app):
    app = uploaded(app)
    for name, heading in MAPPING.items():
        app.selectbox(key=f"own_prices.map.{name}").set_value(heading)
    app.run()
    for name, value in ANSWERS.items():
        widgets = app.text_input if name in ("provider", "region", "as_of") else app.selectbox
        widgets(key=f"own_prices.answer.{name}").set_value(value).run()
    return app.button(key="own_prices.read").click().run()


def expected_answer(text, catalogue):
    scenario = Scenario().with_values(
        {"workload.model": "llama-3.1-70b", "traffic.peak_requests_per_s": 20, "catalogue.own_sheet": REPORT.sheet}
    )
    return answer(evaluate(scenario, catalogue), text)[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sheet_is_asked_about_and_then_decides_on_every_page(language):
    text, app = Text(language), catalogue_page(language)
    assert text("catalogue_import.missing", sheet=REPORT.sheet) in shown_with_notices(app)
    app = imported(app)
    assert not app.exception
    assert text("own_prices.used", sheet=REPORT.sheet) in shown_with_notices(app)
    assert text("own_prices.left_out", count="1", rows="3") in shown(app)
    app = app.switch_page("../pages/overview.py").run()
    assert expected_answer(text, REPORT.applied(load_catalogue())) in shown(app)
    assert "Own Cloud" in shown(app)


def test_no_other_session_sees_the_sheet():
    imported(catalogue_page())
    app = opened("overview", v="1", **QUESTION, **{"catalogue.own_sheet": REPORT.sheet})
    assert "Own Cloud" not in shown(app)
    assert expected_answer(Text("en"), load_catalogue()) in shown(app)


def switched(app):
    app.query_params.clear()  # the harness would go on with the address from before the click
    return app.button(key="own_prices.switch").click().run()


def test_the_prices_can_be_left_out_and_taken_up_again():
    app = switched(imported(catalogue_page()))
    assert Text("en")("own_prices.unused", sheet=REPORT.sheet) in shown_with_notices(app)
    app = switched(app)
    assert Text("en")("own_prices.used", sheet=REPORT.sheet) in shown_with_notices(app)


def test_what_is_not_answered_keeps_the_button_closed():
    app = uploaded(catalogue_page())
    assert app.button(key="own_prices.read").disabled
    assert "Still to be answered" in shown(app)


def test_a_file_that_cannot_be_read_is_answered_with_a_sentence():
    app = uploaded(catalogue_page(), b"%PDF-1.7\n1 0 obj", "quote.csv")
    assert not app.exception
    assert "quote.csv is a PDF file" in shown(app)


def shown_with_notices(app):
    notices = [re.sub(r"\\(.)", r"\1", element.value) for element in (*app.info, *app.warning)]
    return "\n".join([shown(app), *notices])
