"""The brief as Markdown: words stay words, whatever signs they hold."""

import re

from gpudash.brief import Brief, Part, as_read
from gpudash.text import Text

_SIGNS = re.compile(r"([\\`*_\[\]<>|#~$&!])")
_LINE_START = re.compile(r"^(\d+)([.)])(?=\s|$)|^([-+=:])")
_ADDRESS = re.compile(r"(?i)(:)(?=//)|(?<=www)(\.)")
_BREAKS = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")


def escaped(text: str) -> str:
    r"""Text that Markdown shows as written: a backslash before what could be markup, HTML, a formula or a link."""
    text = _SIGNS.sub(r"\\\1", _BREAKS.sub(" ", text).strip())
    text = _ADDRESS.sub(lambda found: "\\" + found[0], text)
    return _LINE_START.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else "\\" + found[3], text)


def brief_markdown(brief: Brief) -> bytes:
    """The whole brief in UTF-8: headings, sentences as lists, tables as tables."""
    about = brief.result.scenario.about
    blocks = [f"# {escaped(brief.title)}"]
    if brief.title != brief.question:
        blocks.append(escaped(brief.question))
    blocks.append(_heading(brief.text("brief.section_answer")))
    blocks += [f"**{escaped(brief.answer[0])}**", *map(escaped, brief.answer[1:])]
    blocks += [escaped(brief.newer)] if brief.newer else []
    blocks += [block for part in brief.read for block in _part(part, brief.text)]
    if about.notes:
        blocks += [_heading(brief.text("brief.notes")), escaped(about.notes)]
    blocks.append(_heading(brief.text("brief.link")))
    blocks.append(f"<{brief.link}>" if brief.address and brief.link else f"`{brief.link}`")
    if about.author:
        blocks.append(escaped(brief.text("brief.author", author=about.author)))
    blocks += [escaped(brief.prices), escaped(brief.made)]
    return ("\n\n".join(blocks) + "\n").encode("utf-8")


def _heading(title: str) -> str:
    return f"## {escaped(title)}"


def _part(part: Part, text: Text) -> list[str]:
    columns = part.table.columns
    if len(columns) == 1:
        return [_heading(part.title), "\n".join(f"- {escaped(sentence)}" for sentence in columns[0].values)]
    lines = [
        _row([escaped(column.label) for column in columns]),
        _row(["---" if column.kind == "text" else "---:" for column in columns]),
    ]
    for row in range(len(part.table)):
        lines.append(_row([escaped(as_read(column.values[row], column.kind, text)) for column in columns]))
    if part.summed:
        lines.append(_row([escaped(as_read(cell, "number", text)) for cell in part.totals(text)]))
    source = [escaped(part.table.source)] if part.table.source else []
    return [_heading(part.title), "\n".join(lines), *source]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
