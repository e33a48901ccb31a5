"""The brief as a PDF: typeset by typst from data/brief/template.typ, tagged, with its own fonts, without a browser."""

import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from html import unescape
from typing import Any
from unicodedata import category

from gpudash.brief import Brief, Part, as_read
from gpudash.errors import GpudashError
from gpudash.figures import overview
from gpudash.figures.table import Table, table
from gpudash.svg import svg
from gpudash.tables import DATA
from gpudash.text import Text

FONTS = DATA / "fonts"
FONT_FILES = (
    *("NotoSans-Regular.ttf", "NotoSans-Bold.ttf", "NotoSansSC-Regular.otf", "NotoSansSC-Bold.otf"),
    *("NotoSansArabic-Regular.ttf", "NotoSansArabic-Bold.ttf", "NotoSansHebrew-Regular.ttf", "NotoSansHebrew-Bold.ttf"),
    "signs.txt",
)
TEMPLATE = DATA / "brief" / "template.typ"
STANDARDS = ["a-2a", "ua-1"]  # archivable, and readable by a screen reader; enforced when the file is made
BOX = "□"  # stands for a sign that the fonts do not have
# What a sheet of paper can hold of each part: size of its letters, and the columns shown with their share of the width
# (0: as wide as it needs).
TABLES = {
    "alternatives": (7.5, {0: 0, 1: 1, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0}),
    "years": (7.5, None),
    "purchase": (7.5, None),
    "owned": (7.5, None),
    "path": (7.5, {0: 3, 1: 3, 2: 2, 3: 0}),
    "roadmap": (7.5, {0: 0, 1: 0, 2: 0, 3: 4, 4: 3}),
    "kpis": (7.5, {0: 0, 1: 1, 2: 1}),
    "assumptions": (6.5, {0: 4, 1: 5, 2: 0}),  # of the shorter form below
}
FIRST, HEADLINE = "alternatives", "numbers"  # the nearest others come right after the answer, which holds its numbers
CHARTS = {"years": overview.cumulative_cost, "purchase": overview.purchase_split}
_BREAK = "\u200b"  # a place where a line may end
_LONG_WORD = re.compile(r"[!-~]{32}(?=[!-~])")
LONGEST_QR_LINK = 1200  # more makes squares too small to read from paper


@lru_cache(maxsize=1)
def signs() -> frozenset[str]:
    """Every sign that the fonts can draw."""
    words = (FONTS / "signs.txt").read_text(encoding="utf-8").split()
    ranges = [[int(end, 16) for end in word.split("-")] for word in words]
    return frozenset(chr(code) for ends in ranges for code in range(ends[0], ends[-1] + 1))


def drawable(text: str) -> str:
    """Text as the fonts can draw it on one line: a box for each sign they lack, places to break very long words."""
    shown = "".join(" " if sign.isspace() else sign for sign in text if sign.isspace() or not _is_shapeless(sign))
    shown = "".join(sign if sign in signs() else BOX for sign in shown)
    return _LONG_WORD.sub(lambda found: found[0] + _BREAK, shown)


def _is_shapeless(sign: str) -> bool:
    """Control signs, joiners, direction marks, variation selectors: they only change their neighbours."""
    return category(sign) in ("Cc", "Cf") or "\ufe00" <= sign <= "\ufe0f"


def check_fonts() -> None:
    """Raises GpudashError where a font is missing: with another, signs would be left out without a word."""
    missing = [file for file in FONT_FILES if not (FONTS / file).exists()]
    if missing:
        raise GpudashError("brief.fonts_missing", files=missing)


def brief_pdf(brief: Brief) -> bytes:
    """The whole brief on A4 in the language of the brief; the same brief gives the same bytes.

    Raises GpudashError where its fonts are missing.
    """
    import typst

    check_fonts()
    collected = datetime.fromisoformat(brief.result.snapshot).replace(tzinfo=UTC)
    return typst.compile(
        TEMPLATE.read_bytes(),
        format="pdf",
        sys_inputs={"data": json.dumps(_drawable(_content(brief)), allow_nan=False)},
        font_paths=[str(FONTS)],
        ignore_system_fonts=True,
        pdf_standards=STANDARDS,
        timestamp=collected,
    )


def _drawable(value: Any) -> Any:
    """All text inside the content made drawable; a picture is text of another kind and stays as it is."""
    if isinstance(value, dict):
        return {key: item if key in ("svg", "qr", "link") else _drawable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_drawable(item) for item in value]
    return drawable(value) if isinstance(value, str) else value


def _content(brief: Brief) -> dict[str, Any]:
    """What the template places, in its own words: see data/brief/template.typ."""
    text, about = brief.text, brief.result.scenario.about
    parts = [part for part in brief.read if part.name != HEADLINE]
    words = [
        brief.title,
        brief.question,
        about.author,
        about.notes,
        *(d.name for d in brief.result.scenario.storage.datasets),
    ]
    return {
        "lang": text.language,
        "region": "CN" if text.language == "zh" else "GB",
        "date": [int(part) for part in brief.result.snapshot.split("-")],
        "title": brief.title,
        "question": brief.question,
        "author": about.author,
        "byline": text("brief.author", author=about.author) if about.author else "",
        "answer_title": text("brief.section_answer"),
        "answer": [*brief.answer, brief.newer] if brief.newer else brief.answer,
        "metrics": [
            {"label": metric.label, "value": metric.value, "note": metric.note}
            for metric in overview.headline(brief.result, text) or ()
        ],
        "sections": [_section(part, brief) for part in sorted(parts, key=lambda part: part.name != FIRST)]
        + _notes(brief),
        "link_title": text("brief.link"),
        "link": brief.link,
        "link_is_address": bool(brief.address and brief.link),
        "qr": qr_svg(brief) or "",
        "prices": brief.prices,
        "missing": text("brief.missing_signs", box=BOX) if BOX in "".join(map(drawable, words)) else "",
        "footer": " · ".join((brief.made, text("common.prices_of", snapshot=text.date(brief.result.snapshot)))),
        "page_of": text("brief.page_of", page="{page}", pages="{pages}"),
    }


def _notes(brief: Brief) -> list[dict]:
    notes = brief.result.scenario.about.notes
    if not notes:
        return []
    return [{"title": brief.text("brief.notes"), "blocks": [{"kind": "list", "items": [notes]}]}]


def _section(part: Part, brief: Brief) -> dict[str, Any]:
    """A part as a heading, its chart if it has one, and its table or list."""
    blocks = []
    chart = CHARTS[part.name](brief.result, brief.text) if part.name in CHARTS else None
    if chart is not None:
        title, source = unescape(chart.layout.title.text), chart.layout.meta["source"]
        picture = _drawable_svg(svg(chart))
        blocks.append({"kind": "chart", "title": title, "alt": title, "source": source, "svg": picture})
    if part.name == "assumptions":
        part = replace(part, table=_by_source(part.table, brief.text))
    if len(part.table.columns) == 1:
        blocks.append({"kind": "list", "items": list(part.table.columns[0].values)})
    else:
        blocks.append(_table(part, brief))
    return {"title": part.title, "blocks": blocks}


def _by_source(assumptions: Table, text: Text) -> Table:
    """The numbers behind the answer, those of one source together: a sheet of paper is no spreadsheet."""
    names, values, _, origins, sources, dates = (column.values for column in assumptions.columns)
    together: dict[tuple, list[str]] = {}
    for name, value, *where in zip(names, values, origins, sources, dates):
        together.setdefault(tuple(where), []).append(text("brief.number", name=name, value=value))
    columns = [
        (assumptions.columns[0].label, [" · ".join(numbers) for numbers in together.values()]),
        (
            assumptions.columns[4].label,
            [text("brief.from", origin=origin, source=source) for origin, source, _ in together],
        ),
        (assumptions.columns[5].label, [day for *_, day in together]),
    ]
    return table(assumptions.title, columns)


def _drawable_svg(picture: str) -> str:
    return "".join(sign if sign in signs() else BOX for sign in picture if not _is_shapeless(sign))


def _table(part: Part, brief: Brief) -> dict[str, Any]:
    size, shares = TABLES[part.name]
    shown = shares or {number: 0 if number else 1 for number in range(len(part.table.columns))}
    columns = [part.table.columns[number] for number in shown]
    rows = [
        [as_read(column.values[row], column.kind, brief.text) for column in columns] for row in range(len(part.table))
    ]
    return {
        "kind": "table",
        "size": size,
        "columns": [
            {"label": column.label, "kind": column.kind, "share": share}
            for column, share in zip(columns, shown.values())
        ],
        "rows": rows,
        "total": [as_read(cell, "number", brief.text) for cell in part.totals(brief.text)] if part.summed else [],
        "source": part.table.source if part.name in ("owned", "path", "roadmap") else "",
    }


def qr_svg(brief: Brief) -> str | None:
    """The link as a QR code, on white whatever is around it.

    None where the dashboard's address is not known or the link too long to be read.
    """
    import segno

    if not brief.address or not brief.link or len(brief.link) > LONGEST_QR_LINK:
        return None
    stream = io.BytesIO()
    segno.make(brief.link, error="l", micro=False).save(
        stream, kind="svg", xmldecl=False, svgns=True, border=2, scale=4, light="white"
    )
    return stream.getvalue().decode("utf-8")
