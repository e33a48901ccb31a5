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

from gpudash.figures.choices import name_label
from gpudash.scenario import bounds, choices, fields, is_optional
from gpudash.text import Text
from ui import state
from ui.literal import literal
from ui.names import known_names

SLIDER_STEPS = 100  # a bounded whole number with fewer steps than this is a slider
PERCENT = 100
# An input's path, and where it is a list of rows, the row and the column that an error names behind it.
_PATH = re.compile(rf"({'|'.join(sorted(map(re.escape, fields()), key=len, reverse=True))})(?:\[(\d+)\]\.(\w+))?")


def field(path: str, resets: tuple[str, ...] = ()) -> None:
    """Draw the widget of one input and, beside it, why its last value was refused.

    A new value puts the inputs `resets`, which have no meaning beside it, back to their defaults.
    """
    text = state.text()
    shown = _shown(path, state.scenario().value(path))
    state.fill(path, shown, state.changer(path, partial(_read, path), resets))
    _widget(path)(
        literal(text(f"fields.{path}.label")),
        key=path,
        help=literal(text(f"fields.{path}.help")),
        **_options(path, shown, text),
    )
    error = state.refusal(path)
    if error is not None:
        st.error(literal(sentence(error, text)))


def sentence(error, text: Text) -> str:
    """The sentence of a refusal, with labels where the error names inputs by their paths."""
    said = text(error.code, **{name: text.value(value) for name, value in error.values.items()})
    return _PATH.sub(lambda found: _label(*found.groups(), text), said)


def _label(path: str, row: str | None, column: str | None, text: Text) -> str:
    label = text(f"fields.{path}.label")
    if row is None:
        return text("frame.input", label=label)
    return text("frame.input_cell", label=label, row=int(row) + 1, column=text(f"fields.{path}.{column}"))


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


def _options(path: str, shown: Any, text: Text) -> dict[str, Any]:
    """The arguments that only one kind of widget takes, `shown` as its default among them."""
    widget = _widget(path)
    if widget in (st.selectbox, st.multiselect):
        return _choice_options(path, shown, text)
    if widget is st.slider:
        low, high = bounds(path)
        if _is_percent(path):
            percent = {"min_value": float(low * PERCENT), "max_value": float(high * PERCENT)}
            return percent | {"value": shown, "step": 1.0, "format": "%g%%"}
        return {"value": shown, "min_value": low, "max_value": high, "step": 1}
    if widget is st.number_input:
        number = {"step": 1} if _kind(path) is int else {"step": 1.0, "format": "%g"}
        # an optional number must have no default, or the browser would not let it be emptied
        return number | {"value": None if is_optional(path) else shown, "placeholder": text("frame.not_set")}
    return {"value": shown}


def _choice_options(path: str, shown: Any, text: Text) -> dict[str, Any]:
    """What may be chosen; a name that a link brought stays choosable although it is not listed."""
    held = shown if isinstance(shown, list) else [shown]
    listed = _listed(path)
    names = [*listed, *(name for name in held if name and name not in listed)]
    options = {
        "options": names,
        "format_func": lambda name: name_label(path, name, text),
        "placeholder": text("frame.not_set"),
    }
    if isinstance(shown, list):
        return options | {"default": shown}
    return options | {"index": None if shown is None else names.index(shown)}


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
