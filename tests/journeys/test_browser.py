"""Journeys in a real browser, each on a fresh server: what a visitor does, and what the page must say then."""

import re
from io import BytesIO
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from bench.browser import PATIENCE_MS
from gpudash import Scenario, evaluate, load_catalogue
from gpudash.figures.overview import answer, headline
from gpudash.text import Text


def keyed(key: str) -> str:
    """The selector of an element with a key; the framework writes other signs than letters as hyphens."""
    return f".st-key-{key.replace('.', '-')}"


PEAK = keyed("traffic.peak_requests_per_s") + " input"
OUTPUT_TOKENS = keyed("workload.output_tokens") + " input"
CARD = keyed("overview.card")


@pytest.fixture
def faults(page):
    """What the browser complains about, other than a page address asked for a file of the framework's own."""
    found = []
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


def result_of(**changes):
    return evaluate(Scenario().with_values(changes), load_catalogue())


def address_of(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def go_to(page, group: str, name: str) -> None:
    page.get_by_test_id("stTopNavSection").get_by_text(group, exact=True).click()
    page.get_by_test_id("stTopNavDropdownLink").get_by_text(name, exact=True).click()


def fill(page, selector: str, value: str) -> None:
    page.locator(selector).fill(value)
    page.locator(selector).press("Enter")


def expect_answer(page, language: str, **changes) -> None:
    """The Overview says the answer of `evaluate` to these inputs."""
    result, text = result_of(**changes), Text(language)
    expect(page.locator(CARD)).to_contain_text(answer(result, text)[0])
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(headline(result, text)[0].value)


def test_a_newcomer_reads_an_answer_changes_an_input_and_reads_the_new_one(page, server, faults):
    page.goto(server)
    expect_answer(page, "en")
    fill(page, PEAK, "40")
    expect_answer(page, "en", **{"traffic.peak_requests_per_s": 40})
    expect(page).to_have_url(re.compile(r"traffic\.peak_requests_per_s=40"))
    assert faults == []


def test_a_link_to_an_inner_page_works_as_the_first_visit_of_a_fresh_server(page, server, faults):
    text = Text("zh")
    page.goto(f"{server}/tco?v=1&workload.output_tokens=450&lang=zh")
    expect(page.get_by_role("heading", name=text("tco.title"))).to_be_visible()
    expect(page.locator(OUTPUT_TOKENS)).to_have_value("450")
    expected = headline(result_of(**{"workload.output_tokens": 450}), text)
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(expected[0].value)
    assert faults == []


def test_values_live_through_pages_language_reload_and_the_back_button(page, server, faults):
    english, chinese = Text("en"), Text("zh")
    page.goto(server)
    expect_answer(page, "en")
    fill(page, OUTPUT_TOKENS, "600")
    expect_answer(page, "en", **{"workload.output_tokens": 600})

    go_to(page, english("frame.group_understand"), english("frame.page_storage"))
    expect(page.get_by_role("heading", name=english("storage_page.title"))).to_be_visible()
    expect(page.locator(OUTPUT_TOKENS)).to_have_value("600")
    expect(page).to_have_url(re.compile(r"/storage\?.*workload\.output_tokens=600"))

    page.go_back()
    expect_answer(page, "en", **{"workload.output_tokens": 600})
    page.go_forward()
    expect(page.get_by_role("heading", name=english("storage_page.title"))).to_be_visible()

    page.get_by_role("radio", name="中文").click()
    expect(page.get_by_role("heading", name=chinese("storage_page.title"))).to_be_visible()
    expect(page).to_have_url(re.compile("lang=zh"))

    page.reload()
    expect(page.get_by_role("heading", name=chinese("storage_page.title"))).to_be_visible()
    expect(page.locator(OUTPUT_TOKENS)).to_have_value("600")

    go_to(page, chinese("frame.group_decide"), chinese("frame.page_overview"))
    expect_answer(page, "zh", **{"workload.output_tokens": 600})
    fill(page, OUTPUT_TOKENS, "200")
    expect_answer(page, "zh", **{"workload.output_tokens": 200})
    expect(page).to_have_url(re.compile(r"workload\.output_tokens=200"))
    page.go_back()
    expect_answer(page, "zh", **{"workload.output_tokens": 600})
    assert faults == []


def test_a_slider_moved_after_opening_a_link_wins_over_the_link(page, server):
    page.goto(f"{server}/?v=1&purchase.horizon_months=24")
    expect_answer(page, "en", **{"purchase.horizon_months": 24})
    slider = page.locator(keyed("purchase.horizon_months")).get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    expect_answer(page, "en", **{"purchase.horizon_months": 25})
    expect(page).to_have_url(re.compile("purchase.horizon_months=25"))
    page.reload()
    expect_answer(page, "en", **{"purchase.horizon_months": 25})


def test_the_copied_link_opens_the_same_decision_for_somebody_else(page, server, browser):
    name = 'A&B 50% +1 =x #2 杭州 $5 <b>"'
    page.goto(server)
    expect_answer(page, "en")
    fill(page, PEAK, "12")
    expect_answer(page, "en", **{"traffic.peak_requests_per_s": 12})
    page.get_by_text(Text("en")("overview.more")).click()
    fill(page, keyed("about.name") + " input", name)
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.get_by_text(Text("en")("overview.copy_link"), exact=True).click()
    link = page.get_by_test_id("stCode").inner_text().strip().replace("\n", "")
    other = browser.new_context(locale="zh-CN").new_page()
    other.goto(link, timeout=PATIENCE_MS)
    expect(other.get_by_role("heading", name=name)).to_be_visible()
    expect_answer(other, "zh", **{"traffic.peak_requests_per_s": 12})
    other.context.close()


def test_an_impossible_budget_is_answered_with_the_gap(page, server):
    text = Text("en")
    page.goto(server)
    expect_answer(page, "en")
    fill(page, keyed("budget.amount") + " input", "20")
    expect(page.locator(CARD)).to_contain_text(text("overview.nothing_meets_budget"))
    gap = text.money(result_of(**{"budget.amount": 20}).gap_usd_per_month)
    expect(page.locator(CARD)).to_contain_text(gap)


def test_a_refused_value_is_explained_beside_the_field_and_the_old_answer_stays(page, server):
    page.goto(server)
    expect_answer(page, "en")
    fill(page, PEAK, "-1")
    expect(page.get_by_test_id("stSidebar").get_by_test_id("stAlert")).to_contain_text("Peak requests per second")
    expect(page.locator(PEAK)).to_have_value("1")
    expect_answer(page, "en")


def test_somebody_who_types_faster_than_the_page_answers_loses_nothing(page, server):
    changes = {
        "traffic.peak_requests_per_s": 12,
        "workload.context_tokens": 900,
        "workload.output_tokens": 250,
        "workload.ttft_ms": 1500,
        "workload.tpot_ms": 60,
        "budget.amount": 90_000,
    }
    page.goto(server)
    expect_answer(page, "en")
    for path, value in changes.items():
        fill(page, keyed(path) + " input", str(value))
    expect_answer(page, "en", **changes)
    expect(page).to_have_url(re.compile("budget.amount=90000"))
    address = address_of(page)
    assert {path: address[path] for path in changes} == {path: str(value) for path, value in changes.items()}


def test_a_data_set_of_a_link_is_placed_in_a_tier(page, server):
    page.goto(f"{server}/storage?v=1&storage.datasets=models,500")
    expect(page.get_by_text(Text("en")("storage_page.placements_title"))).to_be_visible()


@pytest.mark.parametrize(
    "name", ("", "recommendation", "workload", "scores", "tco", "purchase_mix", "storage", "evidence")
)
def test_a_phone_never_scrolls_sideways(page, server, name):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/{name}?v=1&workload.model=llama-3.1-70b&traffic.peak_requests_per_s=20")
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_role("heading").first).to_be_visible()
    wider = page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth")
    assert wider <= 0


def test_the_brief_is_printed_without_anything_to_operate(page, server):
    text, result = Text("en"), result_of()
    page.goto(f"{server}/brief")
    expect(page.locator(keyed("brief_page.card"))).to_contain_text(answer(result, text)[0])
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_alt_text(text("brief.link"))).to_be_visible()  # the last picture of the page
    printed = PdfReader(BytesIO(page.pdf(format="A4")))
    words = re.sub(r"\s+", "", "".join(sheet.extract_text() for sheet in printed.pages))
    for line in (*answer(result, text)[:2], text("brief.kpis_title"), text("figures.cumulative_y", currency="USD")):
        assert re.sub(r"\s+", "", line) in words
    for label in ("fields.traffic.peak_requests_per_s.label", "brief_page.mail", "brief_page.section_actions"):
        assert re.sub(r"\s+", "", text(label)) not in words
    assert len(printed.pages) <= 5
