"""The filters of the Catalogue page; they are a way of looking, no inputs, and last as long as the page is open."""

from datetime import date

import streamlit as st

from gpudash.figures.catalogue import UNITS, Chosen
from gpudash.figures.choices import name_label
from gpudash.import_answers import KINDS
from gpudash.scenario import Scenario
from gpudash.text import Text
from ui.literal import literal
from ui.names import known_names

PROVIDERS, GPUS, COUNTRIES = "requirements.providers_in", "requirements.gpus_in", "requirements.countries"


def offer_filter(scenario: Scenario, text: Text) -> Chosen:
    """Four choices, each of them empty at first, and whether prices are per GPU or per server."""
    columns = st.columns(4)
    snapshot = scenario.catalogue.snapshot
    chosen = {}
    for column, (name, path) in zip(columns, {"providers": PROVIDERS, "gpus": GPUS, "countries": COUNTRIES}.items()):
        with column:
            chosen[name] = _choice(
                name, known_names(path, snapshot), lambda item, at=path: name_label(at, item, text), text
            )
    with columns[3]:
        chosen["kinds"] = _choice("kinds", KINDS, lambda kind: text(f"common.kind.{kind}"), text)
    per = st.segmented_control(
        literal(text("catalogue_page.per")),
        UNITS,
        default=UNITS[0],
        required=True,
        key="catalogue_page.per",
        format_func=lambda unit: text(f"catalogue_page.per_{unit}"),
        label_visibility="collapsed",
    )
    return Chosen(**chosen, per=per, today=date.today())


def _choice(name: str, options, label, text: Text) -> tuple[str, ...]:
    return tuple(
        st.multiselect(
            literal(text(f"catalogue_page.filter_{name}")),
            options,
            key=f"catalogue_page.filter_{name}",
            format_func=label,
            placeholder=text("catalogue_page.all"),
        )
    )
