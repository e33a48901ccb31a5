"""The answer to take along: files made when somebody asks for them, the link as a code, a mail."""

from urllib.parse import quote

import streamlit as st

from gpudash.brief import Brief
from gpudash.errors import GpudashError
from gpudash.export_files import ACTIONS, DOCUMENTS
from gpudash.figures.table import Table
from gpudash.pdf import check_fonts, qr_svg
from gpudash.spreadsheet import table_csv
from ui.fields import sentence
from ui.literal import literal

TYPES = {
    ".pdf": "application/pdf",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".csv": "text/csv",
    ".json": "application/json",
    ".md": "text/markdown",
    ".ics": "text/calendar",
}


def documents(brief: Brief) -> None:
    """One button per document; the file is made after the click. A PDF without its fonts is refused at once."""
    makers, refused = dict(DOCUMENTS), ""
    try:
        check_fonts()
    except GpudashError as error:
        refused = sentence(error, brief.text)
        del makers[".pdf"]
    row = st.container(horizontal=True)
    for ending, make in makers.items():
        _button(row, brief, ending, lambda make=make: make(brief))
    if refused:
        st.caption(literal(refused))


def document(brief: Brief, ending: str, key: str) -> None:
    """One document of the answer, made after the click, under a key of its own."""
    _button(st, brief, ending, lambda: DOCUMENTS[ending](brief), key=key, icon=":material/download:")


def actions(brief: Brief) -> None:
    """One button per file that a team can run; these are small and made at once, so that a refusal can be read."""
    row, refused = st.container(horizontal=True), []
    for ending, make in ACTIONS.items():
        try:
            content = make(brief)
        except GpudashError as error:
            refused.append(sentence(error, brief.text))
            continue
        _button(row, brief, ending, content)
    for line in dict.fromkeys(refused):
        st.caption(literal(line))


def _button(place, brief: Brief, ending: str, content, *, key: str = "", **look) -> None:
    place.download_button(
        literal(brief.text(f"brief_page.file{ending}")),
        content,
        file_name=f"gpudash-{brief.result.snapshot}{ending}",
        mime=TYPES.get(ending[ending.rfind(".") :], "text/plain"),
        key=key or f"brief_page.file{ending}",
        on_click="ignore",
        **look,
    )


def table(shown: Table, brief: Brief, key: str) -> None:
    """One table as CSV, as it is on the screen, with its prices and the link."""
    st.download_button(
        literal(brief.text("frame.csv")),
        lambda: table_csv(shown, brief),
        file_name=f"gpudash-{key}.csv",
        mime=TYPES[".csv"],
        key=f"{key}.csv",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


def pass_on(brief: Brief) -> None:
    """The link to copy, as a code for a phone, and as a mail."""
    code = qr_svg(brief)
    words, picture = st.columns((4, 1))
    with words:
        st.code(brief.link, language=None, wrap_lines=True)
        st.caption(literal(brief.text("brief_page.link_help")))
        st.link_button(literal(brief.text("brief_page.mail")), _mail(brief), icon=":material/mail:")
    if code is not None:
        picture.image(code, width=160, alt=brief.text("brief.link"))


def _mail(brief: Brief) -> str:
    """An unsent mail with the answer and the link."""
    body = "\n\n".join([brief.question, *brief.answer[:2], brief.link])
    return f"mailto:?subject={quote(brief.title)}&body={quote(body)}"
