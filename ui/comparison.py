"""The chooser of the Compare page: starting points, single providers and pasted links beside the inputs."""

import streamlit as st

from gpudash import share
from gpudash.errors import GpudashError
from gpudash.figures.compare import Compared
from gpudash.result import Result
from gpudash.scenario import Scenario
from gpudash.text import Text
from ui import state
from ui.fields import sentence
from ui.literal import literal
from ui.names import known_names
from ui.starting_points import standing_at, starting_points

CHOSEN, PROVIDERS, PASTED = "compare.chosen", "compare.providers", "compare.pasted"
LETTERS = "ABCD"


def chooser(own: Result, text: Text) -> Compared:
    """Draw the three ways to add a scenario and return the results that stand side by side; a failing one says why."""
    desk = state.desk()
    alone = _alone(desk.scenario)
    chosen, providers, pasted = st.columns(3)
    with chosen:
        _choose(desk, alone, text)
    with providers:
        _choose_providers(desk, alone, text)
    with pasted:
        _paste(desk, text)
    results, names = [own], [_name(0, own.scenario, text)]
    for number, scenario in enumerate(desk.compared, start=1):
        name = _name(number, scenario, text)
        try:
            results.append(desk.answer(scenario))
        except GpudashError as error:
            st.error(literal(text("compare.fails", name=name, because=sentence(error, text))))
        else:
            names.append(name)
    return Compared(tuple(results), tuple(names))


def _alone(scenario: Scenario) -> dict[str, Scenario]:
    """The same inputs with one provider alone, by the provider."""
    names = known_names("requirements.providers_in", scenario.catalogue.snapshot)
    return {name: share.pinned(scenario.with_value("requirements.providers_in", [name])) for name in names}


def _choose(desk: state.Desk, alone: dict[str, Scenario], text: Text) -> None:
    """The starting points and what was pasted, each standing for its own address; single providers stand beside."""
    providers = [scenario for scenario in desk.compared if scenario in alone.values()]
    others = [scenario for scenario in desk.compared if scenario not in providers]
    held = [share.url(scenario) for scenario in others]
    scenarios = {share.url(point): point for point in starting_points().values()}
    scenarios |= dict(zip(held, others))
    room = share.MOST_COMPARED - len(providers)
    state.fill(CHOSEN, held, lambda addresses: _take_chosen(desk, providers, addresses))
    st.multiselect(
        literal(text("compare.with")),
        list(scenarios),
        default=held,
        key=CHOSEN,
        format_func=lambda address: _label(scenarios[address], text),
        max_selections=max(room, 1),
        disabled=room == 0,
        placeholder=text("compare.with_placeholder"),
        help=literal(text("compare.with_help")),
    )


def _take_chosen(desk: state.Desk, providers: list[Scenario], addresses: list[str]) -> None:
    desk.compared, desk.refused = (*map(share.scenario_of_url, addresses), *providers), {}


def _choose_providers(desk: state.Desk, alone: dict[str, Scenario], text: Text) -> None:
    """The providers that stand beside the inputs alone."""
    held = [name for name, scenario in alone.items() if scenario in desk.compared]
    room = share.MOST_COMPARED - len(desk.compared) + len(held)
    state.fill(PROVIDERS, held, lambda chosen: _take_providers(desk, alone, chosen))
    st.multiselect(
        literal(text("compare.providers")),
        list(alone),
        default=held,
        key=PROVIDERS,
        max_selections=max(room, 1),
        disabled=room == 0,
        placeholder=text("compare.providers_placeholder"),
        help=literal(text("compare.providers_help")),
    )


def _take_providers(desk: state.Desk, alone: dict[str, Scenario], chosen: list[str]) -> None:
    others = tuple(scenario for scenario in desk.compared if scenario not in alone.values())
    desk.compared, desk.refused = (*others, *(alone[name] for name in chosen)), {}


def _paste(desk: state.Desk, text: Text) -> None:
    state.fill(PASTED, "", lambda address: _take_pasted(desk, address))
    st.text_input(
        literal(text("compare.paste")),
        value="",
        key=PASTED,
        max_chars=share.ADDRESS_CHARACTERS,
        placeholder="https://…/?v=1&…",
        help=literal(text("compare.paste_help")),
    )
    error = state.refusal(PASTED)
    if error is not None:
        st.error(literal(sentence(error, text)))


def _take_pasted(desk: state.Desk, address: str) -> None:
    if not address.strip():
        return
    try:
        scenario = share.pinned(share.scenario_of_url(address))
        if len(desk.compared) == share.MOST_COMPARED:
            raise GpudashError("compare.too_many", limit=share.MOST_COMPARED)
        desk.answer(scenario)
    except GpudashError as error:
        desk.refused = {PASTED: error}
        return
    desk.compared = tuple(dict.fromkeys((*desk.compared, scenario)))
    desk.refused = {}


def _name(number: int, scenario: Scenario, text: Text) -> str:
    label = text("compare.yours") if number == 0 and not scenario.about.name else _label(scenario, text)
    return text("compare.name", letter=LETTERS[number], label=label)


def _label(scenario: Scenario, text: Text) -> str:
    """The name its author gave it, or that of the starting point, or its model."""
    point = standing_at(scenario)
    if scenario.about.name:
        return scenario.about.name
    if len(scenario.requirements.providers_in) == 1:
        return text("compare.only", provider=scenario.requirements.providers_in[0])
    if point is None:
        return text("compare.pasted_with", model=scenario.workload.model)
    return text(f"scenarios.{point}")
