"""What one does with an answer, beside its title: copy the link, take the PDF, go and compare."""

from pathlib import Path

import streamlit as st

from gpudash.brief import Brief
from ui import downloads
from ui.literal import literal

COMPARE = Path(__file__).resolve().parents[1] / "pages/compare.py"


def actions(brief: Brief, page: str) -> None:
    """The buttons; their labels are sentences of the page's topic."""
    text = brief.text
    with st.popover(literal(text(f"{page}.copy_link")), icon=":material/link:", key=f"{page}.link"):
        st.code(brief.link, language=None, wrap_lines=True)
        st.caption(literal(text(f"{page}.link_help")))
    downloads.document(brief, ".pdf", f"{page}.pdf")
    if st.button(literal(text(f"{page}.compare")), icon=":material/compare_arrows:", key=f"{page}.compare"):
        st.switch_page(COMPARE)
