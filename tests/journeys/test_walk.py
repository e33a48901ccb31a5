"""A walk over all pages in both languages: nothing fails, and nobody reads the program's own words."""

import re

import pytest
from playwright.sync_api import expect

from gpudash.text import LANGUAGES, Text

PAGES = (
    ("decide", ("overview", "recommendation", "compare")),
    ("understand", ("workload", "scores", "tco", "purchase_mix", "storage", "what_if")),
    ("check", ("catalogue", "evidence", "claims", "brief")),
)
TITLE_TOPICS = {name: f"{name}_page" for name in ("scores", "storage", "catalogue", "claims", "brief")}
PROGRAM_WORDS = (
    re.compile(r"\{\w*\}"),  # a placeholder that nobody filled
    re.compile(r"\b(?:workload|traffic|budget|purchase|finance|requirements|priorities|catalogue|about)\.[a-z_]+"),
    re.compile(r"\b(?:None|NaN|nan|N/A|undefined|Traceback)\b"),
    re.compile(r"(?<![\w/.-])[a-z]+_[a-z]+(?![\w.-])"),  # a field name; names of offers hold digits or hyphens
)
ENGLISH_SENTENCE = re.compile(r"(?:\b[a-z]+\b[ ,]+){5,}[a-z]+\b")


def visible(page) -> str:
    """What the page and its sidebar say, without addresses and the names of icons."""
    said = "\n".join(page.get_by_test_id(part).inner_text() for part in ("stMain", "stSidebar"))
    icons = set(page.get_by_test_id("stIconMaterial").all_inner_texts())
    return "\n".join(line for line in re.sub(r"https?://\S+", "", said).splitlines() if line.strip() not in icons)


def odd_words(said: str, language: str) -> list[str]:
    found = [match for pattern in PROGRAM_WORDS for match in pattern.findall(said)]
    return found + (ENGLISH_SENTENCE.findall(said) if language == "zh" else [])


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_page_fails_or_shows_words_of_the_program(page, server, language):
    faults, odd, text = [], {}, Text(language)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto(f"{server}/?lang={language}")
    for group, names in PAGES:
        for name in names:
            if name != "overview":
                page.get_by_test_id("stTopNavSection").get_by_text(text(f"frame.group_{group}"), exact=True).click()
                link = page.get_by_test_id("stTopNavDropdownLink")
                link.get_by_text(text(f"frame.page_{name}"), exact=True).click()
                title = text(f"{TITLE_TOPICS.get(name, name)}.title")
                expect(page.get_by_role("heading", name=title)).to_be_visible()
            expect(page.get_by_text("· gpudash ")).to_be_visible()  # the footer: all is drawn
            assert page.get_by_test_id("stException").count() == 0, name
            if found := odd_words(visible(page), language):
                odd[name] = found
    assert odd == {}
    assert faults == []
