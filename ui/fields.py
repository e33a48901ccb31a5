"""`field(path)`: the right widget for an input, from its type and bounds; label and help from the text table.

The key of a widget is the path of its input. It is filled from the scenario just before it is drawn, so the scenario
alone decides what is shown, after a page change, a reload or a pasted link.
"""

import re
from collections.abc import Callable
from functools import partial
from types import UnionType
from typing import Any, Union, get_args, get_origin

import streamlit as st

from gpudash.scenario import bounds, choices, fields, is_optional
from gpudash.text import Text
from ui import state
from ui.literal import literal
from ui.names import known_names, name_label

SLIDER_STEPS = 100  # a bounded whole number with fewer steps than this is a slider
PERCENT = 100
_PATH = re.compile("|".join(sorted(map(re.escape, fields()), key=len, reverse=True)))


def field(path: str) -> None:
    """Draw the widget of one input and, beside it, why its last value was refused."""
    text = state.text()
    state.fill(path, _shown(path, state.scenario().value(path)), state.changer(path, partial(_read, path)))
    _widget(path)(
        literal(text(f"fields.{path}.label")),
        key=path,
        help=literal(text(f"fields.{path}.help")),
        **_options(path, text),
    )
    error = state.refusal(path)
    if error is not None:
        st.error(literal(sentence(error, text)))


def sentence(error, text: Text) -> str:
    """The sentence of a refusal, with labels where the error names inputs by their paths."""
    return _PATH.sub(lambda found: text("frame.input", label=text(f"fields.{found[0]}.label")), _say(error, text))


def _say(error, text: Text) -> str:
    return text(error.code, **{name: text.value(value) for name, value in error.values.items()})


def _kinds(path: str) -> tuple:
    """The plain types an input may hold: without None, Annotated and Literal's words."""
    pending, found = [fields()[path].annotation], []
    while pending:
        item = pending.pop()
        if get_origin(item) in (Union, UnionType):
            pending.extend(get_args(item))
        elif hasattr(item, "__metadata__"):
            pending.append(get_args(item)[0])
        elif item is not type(None):
            found.append(get_origin(item) or item)
    return tuple(found)


def _kind(path: str) -> Any:
    return _kinds(path)[0]


def _is_percent(path: str) -> bool:
    return "_fraction" in path.partition(".")[2] and _kind(path) is float


def _is_slider(path: str) -> bool:
    low, high = bounds(path)
    if is_optional(path) or None in (low, high):
        return False
    if _kind(path) is int:
        return high - low < SLIDER_STEPS
    return _is_percent(path) and low >= 0


def _widget(path: str) -> Callable:
    kind = _kind(path)
    if kind is bool:
        return st.toggle
    if kind is tuple:
        return st.multiselect if _listed(path) else st.text_area
    if _listed(path):
        return st.selectbox
    if kind is str:
        return st.text_input
    return st.slider if _is_slider(path) else st.number_input


def _listed(path: str) -> tuple[str, ...]:
    return choices(path) or known_names(path, state.scenario().catalogue.snapshot)


def _options(path: str, text: Text) -> dict[str, Any]:
    """The arguments that only one kind of widget takes."""
    widget = _widget(path)
    if widget in (st.selectbox, st.multiselect):
        current = state.scenario().value(path)
        held = current if isinstance(current, tuple) else (current,)
        listed = _listed(path)
        options = {
            "options": [*listed, *(name for name in held if name and name not in listed)],
            "format_func": lambda name: name_label(path, name, text),
            "placeholder": text("frame.not_set"),
        }
        return options | ({"index": None} if is_optional(path) else {}) if widget is st.selectbox else options
    if widget is st.slider:
        low, high = bounds(path)
        if _is_percent(path):
            return {
                "min_value": float(low * PERCENT),
                "max_value": float(high * PERCENT),
                "step": 1.0,
                "format": "%g %%",
            }
        return {"min_value": low, "max_value": high, "step": 1}
    if widget is st.number_input:
        number = {"step": 1} if _kind(path) is int else {"step": 1.0, "format": "%g"}
        return number | ({"value": None, "placeholder": text("frame.not_set")} if is_optional(path) else {})
    return {}


def _shown(path: str, value: Any) -> Any:
    """An input as its widget holds it: percent for fractions, a list for several names."""
    if isinstance(value, tuple):
        return list(value) if _listed(path) else ", ".join(str(item) for item in value)
    if value is None:
        return "" if _widget(path) is st.text_input else None
    if _is_percent(path):
        return round(value * PERCENT, 10)
    return float(value) if _kind(path) is float else value


def _read(path: str, held: Any) -> Any:
    """What a widget holds, as the input."""
    if held is None or (held == "" and is_optional(path)):
        return None
    if _is_percent(path):
        return round(held / PERCENT, 12)
    return held
