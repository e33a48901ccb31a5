"""The PDF says what the page says in real text, draws every sign, and nothing in a name is read as markup."""

import io
import re
from html import unescape
from itertools import pairwise
from random import Random
from xml.etree import ElementTree

import pytest
from pypdf import PdfReader

from gpudash.figures import overview, tco
from gpudash.pdf import BOX, FONTS, brief_pdf, drawable, qr_svg, signs
from gpudash.roadmap import kpis, stages
from gpudash.svg import svg, ticks
from gpudash.tables import DATA, read_yaml
from gpudash.text import LANGUAGES, Text
from tests.test_brief import HOSTILE, SCENARIOS, brief_of

MOST_BYTES, MOST_PAGES = 1_000_000, 4


def read(content: bytes) -> tuple[str, PdfReader]:
    """The text of all pages without spaces and line ends (they depend on where lines break), and the document."""
    document = PdfReader(io.BytesIO(content))
    return squeezed("".join(page.extract_text() for page in document.pages)), document


def squeezed(text: str) -> str:
    return re.sub(r"[\s\u200b]+", "", text)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_pdf_holds_the_numbers_of_the_result_in_its_language(name, language):
    brief = brief_of(name, language)
    content = brief_pdf(brief)
    found, document = read(content)
    assert len(content) < MOST_BYTES
    assert 2 <= len(document.pages) <= MOST_PAGES
    wanted = [brief.question, *brief.answer, *(metric.value for metric in overview.headline(brief.result, brief.text))]
    wanted += [brief.text.say(kpi.target) for kpi in kpis(brief.result)]
    wanted += [stage.starts.isoformat() for stage in stages(brief.result)]
    wanted += [part.title for part in brief.read if part.name != "numbers"]
    for number in range(1, len(document.pages) + 1):
        wanted.append(brief.text("brief.page_of", page=number, pages=len(document.pages)))
    assert not [words for words in wanted if squeezed(drawable(words)) not in found]
    assert BOX not in found


def test_own_servers_are_on_paper_too():
    own = {"finance__owned_servers": 2, "finance__owned_gpu": "H100 SXM", "finance__owned_gpus_per_server": 8}
    brief = brief_of("chat-70b-around-the-clock", **own)
    found, _ = read(brief_pdf(brief))
    part = next(part for part in brief.read if part.name == "owned")
    assert squeezed(part.table.source) in found
    assert brief.text.number(brief.result.owned.saving_usd) in found


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pdf_is_tagged_and_says_its_language_and_title(language):
    brief = brief_of("chat-70b-around-the-clock", language, about__author="Ada & Co.")
    _, document = read(brief_pdf(brief))
    root = document.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"].startswith(language)
    assert (document.metadata.title, document.metadata.author) == (brief.title, "Ada & Co.")


def test_the_same_brief_is_the_same_file():
    assert brief_pdf(brief_of("chat-70b-around-the-clock")) == brief_pdf(brief_of("chat-70b-around-the-clock"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_printed_and_never_read_as_markup(name):
    changes = {"about__name": name, "about__author": name, "about__notes": name}
    datasets = [{"name": name[:80], "size_gb": 10}]
    found, document = read(brief_pdf(brief_of("bank-in-china", "zh", storage__datasets=datasets, **changes)))
    begin = found[: len(squeezed(drawable(name)))]
    assert sorted(begin) == sorted(squeezed(drawable(name)))  # words of right-to-left scripts are read from the left
    assert len(document.pages) <= MOST_PAGES + 1


@pytest.mark.parametrize("signs_of_money", ["股 € ¥ ² — ≥ × · “中” ₂ ±"])
def test_signs_of_money_science_and_chinese_are_drawn(signs_of_money):
    assert drawable(signs_of_money) == signs_of_money
    assert squeezed(signs_of_money) in read(brief_pdf(brief_of("lora-7b", about__name=signs_of_money)))[0]


def test_signs_that_the_fonts_lack_become_boxes_and_the_reader_is_told():
    assert drawable("a🚀b\u202ec\nשלום") == f"a{BOX}bc שלום"
    brief = brief_of("lora-7b", about__name="a🚀b")
    assert squeezed(Text("en")("brief.missing_signs", box=BOX)) in read(brief_pdf(brief))[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_fonts_can_draw_every_sentence_and_every_name_we_have(language):
    texts = [path.read_text(encoding="utf-8") for path in (DATA / "text" / language).glob("*.yaml")]
    texts += [path.read_text(encoding="utf-8") for path in DATA.glob("*.csv")]
    missing = {sign for text in texts for sign in text if not sign.isspace()} - signs()
    assert not missing, "run tools/make_fonts.py"


def test_the_fonts_come_with_their_licence():
    assert "SIL OPEN FONT LICENSE" in (FONTS / "OFL.txt").read_text(encoding="utf-8")
    assert {path.suffix for path in FONTS.iterdir()} == {".otf", ".ttf", ".txt"}


def test_there_is_a_qr_code_only_where_it_leads_somewhere():
    brief = brief_of("lora-7b")
    assert "<svg" in qr_svg(brief)
    assert qr_svg(type(brief)(brief.result, brief.text)) is None
    notes = "".join(Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=2000))
    assert qr_svg(brief_of("lora-7b", about__notes=notes)) is None


# ---- charts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_drawn_chart_is_well_formed_and_holds_the_names_of_its_series(name, language):
    brief = brief_of(name, language)
    for view in (overview.cumulative_cost, overview.purchase_split, tco.monthly_cost):
        chart = view(brief.result, brief.text)
        drawn = ElementTree.fromstring(svg(chart))
        words = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
        named = {unescape(trace.name) for trace in chart.data} if chart.layout.showlegend else set()
        assert named <= words


def test_a_stacked_bar_is_as_long_as_its_share():
    brief = brief_of("chat-70b-around-the-clock")
    chart = overview.purchase_split(brief.result, brief.text)
    bars = list(ElementTree.fromstring(svg(chart)).iter("{http://www.w3.org/2000/svg}rect"))
    lengths = [float(bar.get("width")) for bar in bars[: len(chart.data)]]
    shares = [trace.x[0] for trace in chart.data]
    assert [length / sum(lengths) for length in lengths] == pytest.approx(
        [share / sum(shares) for share in shares], abs=1e-3
    )


@pytest.mark.parametrize("low, high", [(0, 1), (0, 97), (-3, 12), (0, 0), (0, 2_924_355), (0, 0.004), (-100, 0)])
def test_ticks_are_round_and_enclose_the_numbers(low, high):
    marks = ticks(low, high)
    assert marks[0] <= low and marks[-1] >= high
    assert 2 <= len(marks) <= 8
    assert {round(b - a, 9) for a, b in pairwise(marks)} == {round(marks[1] - marks[0], 9)}


def test_the_roadmap_parameters_all_have_a_source():
    entries = read_yaml(DATA / "brief" / "roadmap.yaml")
    assert all(set(entry) == {"value", "source", "as_of"} and entry["source"] for entry in entries.values())
