"""An input that is a list of rows (data sets, discounts) as an editable table."""

from functools import partial
from typing import Any, get_args

import pandas as pd
import streamlit as st
from pydantic import BaseModel

from gpudash.scenario import fields
from gpudash.text import Text
from ui import state
from ui.fields import sentence
from ui.literal import literal
from ui.names import known_names

_CHOSEN = {"provider": "requirements.providers_in", "gpu": "requirements.gpus_in"}  # columns -> where their names are


def rows(path: str) -> None:
    """Draw the table of a list of rows and, under it, why the last edit was refused.

    The key of the widget holds what the list contains: an accepted edit makes a new list, hence a fresh widget
    without pending edits.
    """
    text, held = state.text(), state.scenario().value(path)
    kind = _row_kind(path)
    shown = [{name: "" if value is None else value for name, value in row.model_dump().items()} for row in held]
    frame = pd.DataFrame(shown, columns=list(kind.model_fields))
    key = f"{path}.{hash(held)}"
    state.watch(key, partial(_take, state.desk(), path, text))
    st.data_editor(
        frame,
        key=key,
        num_rows="dynamic",
        hide_index=True,
        column_config={name: _column(path, name, kind, text) for name in kind.model_fields},
        alt=text(f"fields.{path}.label"),
    )
    st.caption(literal(text(f"fields.{path}.help")))
    error = state.refusal(path)
    if error is not None:
        st.error(literal(sentence(error, text)))


def _row_kind(path: str) -> type[BaseModel]:
    return get_args(fields()[path].annotation)[0]


def _column(path: str, name: str, kind: type[BaseModel], text: Text):
    label = text(f"fields.{path}.{name}")
    info = kind.model_fields[name]
    if name in _CHOSEN:
        names = known_names(_CHOSEN[name], state.scenario().catalogue.snapshot)
        return st.column_config.SelectboxColumn(label, options=list(names), required=info.is_required())
    if info.annotation in (float, int):
        return st.column_config.NumberColumn(
            label,
            default=None if info.is_required() else info.default,
            format="localized",
            step=1 if info.annotation is int else None,
        )
    return st.column_config.TextColumn(label)


def _take(desk: state.Desk, path: str, text: Text, edit: dict[str, Any]) -> None:
    """Put an edit into the scenario; a fresh row is completed, so that it may be filled in cell by cell."""
    held = [row.model_dump() for row in desk.scenario.value(path)]
    for number, cells in edit["edited_rows"].items():
        held[int(number)] |= {column: None if value == "" else value for column, value in cells.items()}
    kept = [row for number, row in enumerate(held) if number not in edit["deleted_rows"]]
    added = [_completed(path, cells, text("frame.new_row", number=len(kept) + 1)) for cells in edit["added_rows"]]
    state.change(desk, {path: [*kept, *added]}, blamed=path)


def _completed(path: str, cells: dict[str, Any], name: str) -> dict[str, Any]:
    """A new row with its required cells filled: a name, zero for an amount."""
    row = {column: value for column, value in cells.items() if value not in (None, "")}
    for column, info in _row_kind(path).model_fields.items():
        if info.is_required():
            row.setdefault(column, info.annotation(0) if info.annotation in (float, int) else name)
    return row
