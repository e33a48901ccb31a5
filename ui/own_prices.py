"""A user's own price sheet on the Catalogue page: opened, asked about, read, and used in this session alone."""

from collections.abc import Callable
from dataclasses import fields

import streamlit as st

from gpudash.catalogue import load_catalogue
from gpudash.catalogue_import import PriceFile, import_file, inspect_file, open_file
from gpudash.errors import GpudashError
from gpudash.figures import own_prices as views
from gpudash.figures.table import Table
from gpudash.import_answers import Answers, Question, format_of
from gpudash.sheet_amounts import DECIMALS
from gpudash.sheet_limits import MEGABYTES
from gpudash.text import Text
from ui.fields import sentence
from ui.literal import literal
from ui.own_sheet import OwnSheet

TYPES = ["csv", "tsv", "txt", "xlsx", "parquet"]
KEY = "own_prices"
DECIMAL_NAMES = {".": "point", ",": "comma"}
COLUMNS_IN_A_ROW = 4
ROWS_SHOWN = 5
ANSWERS = tuple(field.name for field in fields(Answers) if field.name not in ("decimal", "sheet"))
# Our columns that a vendor's sheet may hold, the ones that are always needed first.
MAPPED_HERE = (
    "instance", "gpu", "gpus_per_server", "price", "term", "region", "provider", "country", "tier", "price_unit",
    "currency", "as_of", "on_demand_per_hour", "spot_per_hour", "monthly_subscription_per_month",
    "reserved_1y_per_hour", "reserved_3y_per_hour", "price_per_gpu", "gpu_fraction", "vcpus", "memory_gb", "notes",
)  # fmt: skip


def own_prices(desk, text: Text, draw: Callable[[Table, str], None]) -> None:
    """What is imported, and the way to import a file; `draw` shows a table under a key."""
    _held(desk, text, draw)
    uploaded = st.file_uploader(
        literal(text("own_prices.file")),
        TYPES,
        key=f"{KEY}.file",
        help=literal(text("own_prices.file_help")),
        max_upload_size=MEGABYTES,
    )
    if uploaded is None:
        return
    try:
        file = _opened(uploaded, text)
        _import(desk, file, text, draw)
    except GpudashError as error:
        st.error(literal(sentence(error, text)))


def _held(desk, text: Text, draw) -> None:
    """The sheet that the answer uses, or that it could use."""
    wanted, own = desk.scenario.catalogue.own_sheet, desk.own
    if own is None:
        if wanted is not None:
            st.warning(literal(text("catalogue_import.missing", sheet=wanted)), icon=":material/warning:")
        return
    sheet, is_used = own.report.sheet, wanted == own.report.sheet
    st.info(literal(text(f"own_prices.{'used' if is_used else 'unused'}", sheet=sheet)), icon=":material/table:")
    label = literal(text("own_prices.remove" if is_used else "own_prices.use"))
    if st.button(label, key=f"{KEY}.switch"):
        desk.use_sheet(None if is_used else own)
        st.rerun()
    for view in (views.totals, views.left_out, views.noted):
        shown = view(own.report, text)
        if shown is not None:
            draw(shown, f"{KEY}.{view.__name__}")


def _opened(uploaded, text: Text) -> PriceFile:
    """The file's cells, read once; of a workbook with several sheets, those of the one that is named."""
    page = st.session_state.get(f"{KEY}.sheet") or None
    held = st.session_state.get(f"{KEY}.opened")
    if held is not None and held[0] == (uploaded.file_id, page):
        return held[1]
    try:
        file = open_file(uploaded.getvalue(), uploaded.name, page)
    except GpudashError as error:
        if error.code == "catalogue_import.sheet":
            st.text_input(literal(text("own_prices.ask_sheet")), key=f"{KEY}.sheet", max_chars=100)
        raise
    st.session_state[f"{KEY}.opened"] = ((uploaded.file_id, page), file)
    return file


def _import(desk, file: PriceFile, text: Text, draw) -> None:
    """Ask for what the file does not say, and read it when everything is answered."""
    catalogue = load_catalogue(desk.scenario.catalogue.snapshot)
    kind = format_of(file.cells)
    st.markdown(literal(text("own_prices.format", format=text(f"own_prices.format_{kind}"))))
    draw(views.beginning(file, ROWS_SHOWN, text), f"{KEY}.beginning")
    mapping = _mapping(tuple(file.cells.columns), text) if kind == "vendor" else {}
    # The answers so far, before their fields are drawn: one answer may bring another question.
    held = {name: st.session_state.get(_answer_key(name)) for name in (*ANSWERS, "decimal")}
    shape = inspect_file(file, catalogue, mapping=mapping, **held)
    answers = _answers(shape.asked, text)
    if shape.questions:
        names = [_label(question.name, text) for question in shape.questions]
        st.caption(literal(text("own_prices.still_asked", names=text.value(tuple(names)))))
    if st.button(literal(text("own_prices.read")), type="primary", disabled=bool(shape.questions), key=f"{KEY}.read"):
        with st.spinner(literal(text("frame.working"))):
            report = import_file(file, catalogue, mapping=mapping, **answers)
        if not len(report.offers):
            st.error(literal(text.say(report.left_out())))
            draw(views.left_out(report, text), f"{KEY}.all_left_out")
            return
        desk.use_sheet(OwnSheet(report))
        st.rerun()


def _mapping(headings: tuple[str, ...], text: Text) -> dict[str, str]:
    """Which heading holds what; a heading that is one of our names is proposed, nothing else is."""
    chosen = {}
    st.markdown(literal(text("own_prices.mapping")))
    for place, name in zip(_grid(len(MAPPED_HERE)), MAPPED_HERE):
        index = headings.index(name) if name in headings else None
        chosen[name] = place.selectbox(
            literal(text(f"own_prices.column.{name}")),
            headings,
            index=index,
            key=f"{KEY}.map.{name}",
            placeholder=literal(text("own_prices.not_in_file")),
        )
    return {name: heading for name, heading in chosen.items() if heading}


def _answer_key(name: str) -> str:
    return f"{KEY}.answer.{name}"


def _answers(questions: tuple[Question, ...], text: Text) -> dict[str, str | None]:
    """What no column says, asked; nothing is chosen beforehand."""
    asked = {question.name: question.allowed for question in questions if question.name in ANSWERS}
    asked["decimal"] = DECIMALS
    given = {}
    st.markdown(literal(text("own_prices.questions")))
    for place, (name, allowed) in zip(_grid(len(asked)), asked.items()):
        label, key = literal(_label(name, text)), _answer_key(name)
        if allowed:
            given[name] = place.selectbox(
                label,
                allowed,
                index=None,
                key=key,
                format_func=lambda value, name=name: _choice(name, value, text),
                placeholder=literal(text(f"own_prices.{'from_amounts' if name == 'decimal' else 'please_choose'}")),
            )
        else:
            given[name] = place.text_input(label, key=key, max_chars=100, help=literal(text(f"own_prices.help.{name}")))
    return given


def _grid(count: int):
    """Places in rows of columns, filled row by row."""
    for _ in range(0, count, COLUMNS_IN_A_ROW):
        yield from st.columns(COLUMNS_IN_A_ROW, vertical_alignment="bottom")


def _label(name: str, text: Text) -> str:
    """An answer's or, behind `mapping.`, a column's name in words."""
    kind, _, column = name.rpartition(".")
    return text(f"own_prices.{'column' if kind else 'ask'}.{column}")


def _choice(name: str, value: str, text: Text) -> str:
    if name == "term":
        return text(f"common.way.{value}")
    if name == "kind":
        return text(f"common.kind.{value}")
    if name == "decimal":
        return text(f"own_prices.decimal.{DECIMAL_NAMES[value]}")
    return value if name == "currency" else text(f"own_prices.{name}.{value}")
