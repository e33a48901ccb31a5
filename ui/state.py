"""The address is the state: one Scenario in the session, mirrored to the address, and its answer."""

from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from gpudash import share
from gpudash.catalogue import load_catalogue
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.result import Result
from gpudash.scenario import Scenario
from gpudash.text import LANGUAGES, Text

LANGUAGE = "lang"  # the key of the language widget and the name in the address
LINK = "link"  # stands for the address where a refused input's path stands otherwise


@lru_cache(maxsize=128)
def answer(scenario: Scenario) -> Result:
    """The Result of a scenario, kept for all sessions: both are frozen. Raises GpudashError."""
    return evaluate(scenario, load_catalogue(scenario.catalogue.snapshot))


def load() -> None:
    """Make the session follow the address: a new session, a pasted link, the back button.

    An empty address means that the page was changed (navigation clears it) and keeps what the session holds. A link
    that cannot be read leaves the scenario as it is and is answered with a sentence.
    """
    session = st.session_state
    if "scenario" not in session:
        session.scenario, session.written, session.refused = Scenario(), {}, {}
        session[LANGUAGE] = _browser_language()
    query = st.query_params.to_dict()
    if not query or query == session.written:
        return
    session.refused = {}
    if query.get(LANGUAGE) in LANGUAGES:
        session[LANGUAGE] = query[LANGUAGE]
    try:
        session.scenario = share.decode(query) if query.keys() - {LANGUAGE} else session.scenario
    except GpudashError as error:
        session.refused = {LINK: error}


def store() -> None:
    """Write the session's scenario and language to the address; the last thing a run does."""
    query = share.encode(st.session_state.scenario) | {LANGUAGE: st.session_state[LANGUAGE]}
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)
    st.session_state.written = query


def link() -> str:
    """The whole address of the scenario, without the page and the language of who made it."""
    place = urlsplit(st.context.url or "")
    return urlunsplit((place.scheme, place.netloc, "/", share.url(scenario()).removeprefix("?"), ""))


def scenario() -> Scenario:
    return st.session_state.scenario


def text() -> Text:
    return Text(st.session_state[LANGUAGE])


def refusal(path: str) -> GpudashError | None:
    """Why the last value of this input was not taken."""
    return st.session_state.refused.get(path)


def change(path: str, value: Any) -> None:
    """Take one new value; a refused one leaves the scenario and is remembered with its reason."""
    change_all({path: value}, blamed=path)


def change_all(values: dict[str, Any], *, blamed: str) -> None:
    """Take several new values at once; a refusal is shown at the input `blamed`."""
    try:
        changed = scenario().with_values(values)
        share.encode(changed)
        if _is_answered(scenario()):
            answer(changed)
    except GpudashError as error:
        st.session_state.refused = {blamed: error}
    else:
        start(changed)


def start(new: Scenario) -> None:
    """Replace the whole scenario."""
    st.session_state.scenario, st.session_state.refused = new, {}


def _is_answered(current: Scenario) -> bool:
    """Where the present inputs have no answer either, a change is taken: it may be one step of the way out."""
    try:
        answer(current)
    except GpudashError:
        return False
    return True


def _browser_language() -> str:
    locale = (st.context.locale or "").lower()
    return next((language for language in LANGUAGES if locale.startswith(language)), LANGUAGES[0])
