"""The address is the state: one Scenario at the session's desk, mirrored to the address, and its answer.

Edits are taken at the start of a run, by comparing what each widget holds with what it was filled with. Callbacks
would lose some: a new request stops a running script at its next use of the session, inside a callback too, and the
callback is never called again. Everything here therefore reads the session first and then changes the desk, which is
a plain object, without touching the session in between: an edit is taken whole, or again on the next run.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from gpudash import share
from gpudash.catalogue import Catalogue, load_catalogue
from gpudash.errors import GpudashError
from gpudash.result import Result
from gpudash.scenario import Scenario, default
from gpudash.text import LANGUAGES, Text
from ui.memo import SHARED, Memo, View
from ui.own_sheet import OwnSheet
from ui.searches import Begin, Search

LANGUAGE = "lang"  # the key of the language widget and the name in the address
LINK = "link"  # stands for the address where a refused input's path stands otherwise
RESET = "reset"  # the same, where a reset was refused
DESK = "desk"

REPEATS = 2
LAG_S = 1.0  # how long a browser may go on speaking from an address that was replaced
LAGGING = 8  # how many replaced addresses are remembered for that
UNDOABLE = 50  # how many scenarios can be had back
NO_EDITS = {"edited_rows": {}, "added_rows": [], "deleted_rows": []}

Take = Callable[[Any], None]


@dataclass
class Desk:
    """What a session holds: the scenario, the address last written, the last refusal, what widgets were filled with.

    `replaced` are the addresses written before the last one, and when each was replaced.
    `own` is the price sheet imported in this session; it counts where a scenario names it.
    `compared` are the scenarios that stand beside it on the Compare page.
    `past` are the scenarios before it, the last one last, and `page_inputs` the inputs of the page shown.
    `runs_to_repeat`: the inputs did not come from the widgets, and are sent to them in so many whole runs more.
    """

    scenario: Scenario = field(default_factory=Scenario)
    own: OwnSheet | None = None
    compared: tuple[Scenario, ...] = ()
    past: tuple[Scenario, ...] = ()
    page_inputs: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)
    replaced: tuple[tuple[dict[str, str], float], ...] = ()
    refused: dict[str, GpudashError] = field(default_factory=dict)
    filled: dict[str, tuple[Any, Take]] = field(default_factory=dict)
    runs_to_repeat: int = REPEATS

    def use_sheet(self, own: OwnSheet | None) -> None:
        """Let an imported sheet decide, or (None) the catalogue alone; a sheet once imported stays at hand."""
        self.own = own or self.own
        change(self, {"catalogue.own_sheet": own and own.report.sheet}, blamed="catalogue.own_sheet")

    def catalogue(self, scenario: Scenario) -> Catalogue:
        """The prices that a scenario asks for, with the imported sheet where it is at hand. Raises GpudashError."""
        own, snapshot = self._own_of(scenario), scenario.catalogue.snapshot
        return load_catalogue(snapshot) if own is None else own.catalogue(snapshot)

    def answer(self, scenario: Scenario) -> Result:
        """The Result of a scenario, at most once calculated. Raises GpudashError."""
        return self._memo(scenario).answer(scenario, self.catalogue(scenario))

    def view(self, function: View, scenario: Scenario, language: str):
        """What a function of gpudash.figures shows of a scenario's Result."""
        return self._memo(scenario).view(function, scenario, self.catalogue(scenario), language)

    def search(self, begin: Begin, scenario: Scenario) -> Search:
        """A long search of a scenario, at the step it has reached."""
        return self._memo(scenario).search(begin, scenario, self.catalogue(scenario))

    def _own_of(self, scenario: Scenario) -> OwnSheet | None:
        wanted = scenario.catalogue.own_sheet
        return self.own if self.own is not None and self.own.report.sheet == wanted else None

    def _memo(self, scenario: Scenario) -> Memo:
        own = self._own_of(scenario)
        return SHARED if own is None else own.memo


def load() -> None:
    """Make the desk follow the address, then the widgets; the first thing a run does."""
    if DESK not in st.session_state:
        st.session_state[DESK] = Desk()
        st.session_state[LANGUAGE] = _browser_language()
    _follow_address(st.session_state[DESK], st.query_params.to_dict())
    _take_edits(st.session_state[DESK])


def _follow_address(desk: Desk, query: dict[str, str]) -> None:
    """A new session, a pasted link, the back button.

    An empty address means that the page was changed (navigation clears it) and keeps what the desk holds. A link
    that cannot be read leaves the scenario as it is and is answered with a sentence.
    """
    if not query or query == desk.written or _lags(desk, query):
        return
    if query.get(LANGUAGE) in LANGUAGES:
        st.session_state[LANGUAGE] = query[LANGUAGE]
    desk.filled, desk.refused, desk.written, desk.runs_to_repeat = {}, {}, query, REPEATS
    try:
        if query.keys() - {LANGUAGE}:
            compared = share.decode_compared(query)
            desk.scenario, desk.compared = share.decode(query), compared
            if desk.past[-1:] == (desk.scenario,):  # the back button undid an edit
                desk.past = desk.past[:-1]
    except GpudashError as error:
        desk.refused = {LINK: error}


def _lags(desk: Desk, query: dict[str, str]) -> bool:
    """Whether an edit came from an address just replaced: the browser spoke before it heard of the new one.

    The back button names a replaced address too, but brings no edit.
    """
    is_recent = any(old == query and monotonic() - since < LAG_S for old, since in desk.replaced)
    return is_recent and any(st.session_state.get(key, value) != value for key, (value, _) in desk.filled.items())


def _take_edits(desk: Desk) -> None:
    """Hand every widget that no longer holds what it was filled with to whoever takes its value."""
    held = {key: st.session_state.get(key, value) for key, (value, _) in desk.filled.items()}
    for key, (value, take) in list(desk.filled.items()):
        if held[key] != value:
            take(held[key])
            desk.filled[key] = (held[key], take)
            if desk.runs_to_repeat < REPEATS:
                desk.runs_to_repeat = 0  # the inputs have arrived; sent again they could undo what is typed meanwhile


def store() -> None:
    """Write the scenario and the language to the address; the last thing a run does."""
    desk = st.session_state[DESK]
    query = share.encode_compared(desk.scenario, desk.compared) | {LANGUAGE: st.session_state[LANGUAGE]}
    if query != desk.written:
        desk.replaced = (*desk.replaced[-LAGGING:], (desk.written, monotonic()))
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)
    desk.written, desk.runs_to_repeat = query, max(desk.runs_to_repeat - 1, 0)


def fill(key: str, value: Any, take: Take) -> None:
    """Let a widget show `value` when it is drawn next, and `take` what the user makes of it.

    A value that the widget holds already is not sent again: it could undo what somebody is typing there right now.
    A run may be followed so closely by another that the browser never gets what it sent. So a replaced scenario is
    sent twice, and widgets have `value` as their default too, as far as they can be emptied all the same.
    """
    desk = st.session_state[DESK]
    if desk.runs_to_repeat or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    desk.filled[key] = (value, take)


def watch(key: str, take: Take) -> None:
    """Let `take` have the edits of a table: it cannot be filled, and holds nothing but what the user changed."""
    st.session_state[DESK].filled[key] = (NO_EDITS, take)


def link() -> str:
    """The whole address of the scenario, without the page and the language of who made it."""
    return _address("/", share.url(scenario()))


def comparison_link() -> str:
    """The whole address of the scenario and those compared with it, on the Compare page."""
    return _address("/compare", share.compared_url(scenario(), desk().compared))


def _address(page: str, query: str) -> str:
    place = urlsplit(st.context.url or "")
    return urlunsplit((place.scheme, place.netloc, page, query.removeprefix("?"), ""))


def scenario() -> Scenario:
    """The inputs of this session."""
    return st.session_state[DESK].scenario


def text() -> Text:
    """The sentences of this session's language."""
    return Text(st.session_state[LANGUAGE])


def refusal(path: str) -> GpudashError | None:
    """Why the last value of this input was not taken."""
    return st.session_state[DESK].refused.get(path)


def changer(path: str, read: Callable[[Any], Any] = lambda held: held, resets: tuple[str, ...] = ()) -> Take:
    """Takes a new value of one input; a refused one leaves the scenario and is remembered with its reason.

    `resets` are the inputs that go back to their defaults with it.
    """
    desk, defaults = st.session_state[DESK], {other: default(other) for other in resets}
    return lambda held: change(desk, {path: read(held), **defaults}, blamed=path)


def change(desk: Desk, values: dict[str, Any], *, blamed: str) -> None:
    """Take several new values at once; a refusal is shown at the input `blamed`."""
    try:
        changed = desk.scenario.with_values(values)
        share.encode(changed)
        if _is_answered(desk):
            desk.answer(changed)
    except GpudashError as error:
        desk.refused = {blamed: error}
    else:
        _replace(desk, changed)


def start(desk: Desk, new: Scenario) -> None:
    """Replace the whole scenario."""
    _replace(desk, new)
    desk.runs_to_repeat = REPEATS


def _replace(desk: Desk, new: Scenario) -> None:
    if new != desk.scenario:
        desk.past = (*desk.past[-UNDOABLE:], desk.scenario)
    desk.scenario, desk.refused = new, {}


def undo(desk: Desk) -> None:
    """The scenario before the last edit."""
    if desk.past:
        desk.scenario, desk.past, desk.refused, desk.runs_to_repeat = desk.past[-1], desk.past[:-1], {}, REPEATS


def reset(desk: Desk, paths: tuple[str, ...]) -> None:
    """Inputs back to their defaults, all at once."""
    defaults = Scenario()
    change(desk, {path: defaults.value(path) for path in paths}, blamed=RESET)


def desk() -> Desk:
    """What this session holds."""
    return st.session_state[DESK]


def _is_answered(desk: Desk) -> bool:
    """Where the present inputs have no answer either, a change is taken: it may be one step of the way out."""
    try:
        desk.answer(desk.scenario)
    except GpudashError:
        return False
    return True


def _browser_language() -> str:
    locale = (st.context.locale or "").lower()
    return next((language for language in LANGUAGES if locale.startswith(language)), LANGUAGES[0])
