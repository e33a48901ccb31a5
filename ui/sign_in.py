"""Sign-in through an OpenID Connect provider, where the operator has configured one in .streamlit/secrets.toml."""

import streamlit as st

from gpudash.text import Text
from ui.literal import literal

SECTION = "auth"  # of the secrets; without it everybody may use the dashboard


def require(text: Text) -> None:
    """End the run with a button to sign in, unless somebody is signed in or nobody has to be."""
    if not _is_configured() or st.user.get("is_logged_in"):
        return
    st.header(literal(text("frame.sign_in_title")), anchor=False)
    st.caption(literal(text("frame.sign_in_help")))
    st.button(literal(text("frame.sign_in")), on_click=st.login, key="sign_in", type="primary")
    st.stop()


def sign_out(text: Text) -> None:
    """The way out again, for those who had to sign in."""
    if _is_configured():
        st.button(literal(text("frame.sign_out")), on_click=st.logout, key="sign_out", type="tertiary")


def _is_configured() -> bool:
    return st.secrets.load_if_toml_exists() and SECTION in st.secrets
