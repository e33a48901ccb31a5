"""The calculable claims of the articles: a reader moves the numbers, and the figure and the verdict follow."""

import streamlit as st

from gpudash.claims import WorkedExample
from gpudash.claims import worked_examples as examples
from gpudash.figures.claims import outcome
from gpudash.text import Text
from ui.fields import PERCENT
from ui.literal import literal

COLUMNS = 3
STEPS = 200  # of a slider between its ends


def worked_examples(text: Text) -> None:
    """One claim at a time; every reading keeps what was moved in it."""
    by_id = {example.claim.id: example for example in examples()}
    chosen = st.selectbox(
        literal(text("claims_page.try_claim")),
        list(by_id),
        format_func=lambda name: f"{name}  {text.say(by_id[name].claim.claim)}",
        key="worked.claim",
    )
    example = by_id[chosen]
    readings = {reading.name: reading for reading in example.readings}
    reading = st.radio(
        literal(text("claims_page.try_reading")),
        list(readings),
        format_func=lambda name: literal(text(f"claims_page.reading_{name}")),
        key=f"worked.{chosen}.reading",
    )
    inputs = {}
    for column, (name, bounds) in zip(_columns(len(example.bounds)), example.bounds.items()):
        with column:
            key = f"worked.{chosen}.{reading}.{name}"
            inputs[name] = _input(key, name, bounds, readings[reading].inputs[name], text)
    _said(example, inputs, text)


def _columns(count: int) -> list:
    """A place for every number, some in a row."""
    return [column for _ in range(0, count, COLUMNS) for column in st.columns(COLUMNS)]


def _input(key: str, name: str, bounds: tuple[float, float] | None, start: float | bool, text: Text) -> float | bool:
    label = literal(text(f"claims_page.input_{name}"))
    if bounds is None:
        return st.toggle(label, start, key=key)
    low, high = bounds
    if isinstance(start, int):
        return st.slider(label, low, high, start, key=key)
    if name.endswith("_fraction"):
        low, high, start = (round(PERCENT * share, 1) for share in (low, high, start))
        return st.slider(label, float(low), float(high), float(start), step=1.0, format="%g%%", key=key) / PERCENT
    return st.slider(label, float(low), float(high), float(start), step=high / STEPS, format="%.4g", key=key)


def _said(example: WorkedExample, inputs: dict[str, float | bool], text: Text) -> None:
    verdict = example.verdict(example.value(inputs))
    show = {"reproduces": st.success, "contradicted": st.warning}.get(verdict, st.info)
    show("\n\n".join(map(literal, outcome(example, inputs, text))))
