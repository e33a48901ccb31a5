"""Links: what goes in comes out, for ever; what is hostile is answered with a sentence."""

import base64
import json
import random
import zlib
from pathlib import Path
from typing import get_args

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from gpudash import share
from gpudash.catalogue import snapshots
from gpudash.errors import GpudashError
from gpudash.scenario import Scenario, bounds, choices, default, fields, is_optional

GOLDEN = Path(__file__).parent / "golden"
LINKS = yaml.safe_load((GOLDEN / "links.yaml").read_text(encoding="utf-8"))
OMITTED = yaml.safe_load((GOLDEN / "link_defaults.yaml").read_text(encoding="utf-8"))
AWKWARD = [
    "A&B 50% +1 =x #2 杭州",
    "< > \" ' & + = # % ? / ; , ~ : [ { none",
    "😀👩‍💻 مرحبا שלום \u202eabc",
    " space at both ends ",
    "ends with a full stop.",
    "line\nbreak\ttab",
    "%41 &amp; \\u0041",
    "none",
    "[1, 2]",
    "x" * 200,
]


def kinds(annotation) -> set:
    return {annotation}.union(*(kinds(part) for part in get_args(annotation))) if get_args(annotation) else {annotation}


def number_between(path: str):
    low, high = bounds(path)
    if int in kinds(fields()[path].annotation):
        return st.integers(low, high)
    return st.floats(low, high, exclude_min=low == 0)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
ROWS = {
    "purchase.negotiated_discounts": st.fixed_dictionaries(
        {"provider": TEXT, "discount_fraction": st.floats(0, 0.95)},
    ),
    "purchase.contracts": st.fixed_dictionaries(
        {
            "provider": TEXT,
            "instance_or_gpu": TEXT,
            "count": st.integers(0, 1_000_000),
            "months_left": st.integers(0, 120),
            "usd_per_hour": st.floats(0, 1e6),
        },
        optional={"region": TEXT},
    ),
    "purchase.savings_plans": st.fixed_dictionaries(
        {"provider": TEXT}, optional={"reserved_1y_discount_fraction": st.floats(0, 0.95)}
    ),
    "requirements.quotas": st.fixed_dictionaries(
        {"provider": TEXT, "gpus": st.integers(0, 1000)}, optional={"region": TEXT, "gpu": TEXT}
    ),
    "storage.datasets": st.fixed_dictionaries(
        {"name": TEXT, "size_gb": st.floats(0, 1e9)},
        optional={"kept_days": st.floats(1, 36_500), "reads_gb_per_month": st.floats(0, 1e10)},
    ),
    "priorities.weights": st.fixed_dictionaries({"criterion": TEXT, "weight": st.floats(0, 1000)}),
}
SPECIAL = {
    "traffic.hourly_shape": st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=168, max_size=168).filter(any),
    "purchase.terms": st.lists(st.sampled_from(["monthly", "reserved_1y", "reserved_3y"]), max_size=3),
    "catalogue.own_sheet": TEXT.filter(bool),
    "catalogue.snapshot": st.sampled_from(snapshots()),
    "budget.currency": st.text("ABCXYZ", min_size=3, max_size=3),
    "finance.currency": st.text("ABCXYZ", min_size=3, max_size=3),
}


def value_of(path: str):
    """A strategy for one input, from the way it is declared."""
    if path in ROWS:
        strategy = st.lists(ROWS[path], max_size=4)
    elif path in SPECIAL:
        strategy = SPECIAL[path]
    elif choices(path):
        strategy = st.sampled_from(choices(path))
    elif isinstance(default(path), bool):
        strategy = st.booleans()
    elif isinstance(default(path), tuple):
        strategy = st.lists(TEXT, max_size=4)
    elif bounds(path) != (None, None):
        strategy = number_between(path)
    else:
        strategy = TEXT
    return strategy | st.none() if is_optional(path) else strategy


SCENARIOS = st.lists(st.sampled_from(sorted(fields())), unique=True, max_size=12).flatmap(
    lambda paths: st.fixed_dictionaries({path: value_of(path) for path in paths})
).map(lambda changes: Scenario().with_values(changes))  # fmt: skip


def test_the_plain_question_is_a_short_link_that_pins_the_prices():
    assert share.url(Scenario()) == f"?v=1&catalogue={snapshots()[-1]}"


def test_only_what_differs_from_the_defaults_is_in_the_link():
    scenario = Scenario().with_values({"workload.params_b": 70, "requirements.countries": ["DE", "FR"]})
    assert share.encode(scenario) == {
        "v": "1",
        "workload.params_b": "70",
        "requirements.countries": "DE,FR",
        "catalogue": snapshots()[-1],
    }


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("path", ["about.name", "about.notes"])
def test_a_name_survives_the_link_byte_for_byte(name, path):
    scenario = share.pinned(Scenario().with_value(path, name))
    assert share.scenario_of_url("https://example.org/overview" + share.url(scenario)) == scenario


@pytest.mark.parametrize("name", [name for name in AWKWARD if len(name) <= 80])
def test_names_inside_lists_survive_the_link_byte_for_byte(name):
    changes = {
        "requirements.providers_in": [name, "b"],
        "storage.datasets": [{"name": name, "size_gb": 1.5}, {"name": "plain", "size_gb": 2}],
        "purchase.negotiated_discounts": {name: 0.1},
    }
    scenario = share.pinned(Scenario().with_values(changes))
    assert share.scenario_of_url(share.url(scenario)) == scenario


@settings(max_examples=1000)
@given(SCENARIOS)
def test_every_scenario_comes_back_from_its_link(scenario):
    assert share.scenario_of_url(share.url(scenario)) == share.pinned(scenario)


@given(SCENARIOS)
def test_the_dictionary_and_the_address_are_the_same_link(scenario):
    assert share.decode(share.encode(scenario)) == share.pinned(scenario)


@pytest.mark.parametrize("path", sorted(path for path in fields() if not isinstance(default(path), tuple)))
def test_an_input_at_its_bounds_comes_back_from_its_link(path):
    values = [value for value in bounds(path) if value not in (None, 0)] or list(choices(path))
    for value in values:
        scenario = share.pinned(Scenario().with_value(path, value))
        assert share.scenario_of_url(share.url(scenario)) == scenario


@pytest.mark.parametrize("path", sorted(path for path in fields() if is_optional(path)))
def test_an_optional_input_can_be_left_empty_in_a_link(path):
    if default(path) is not None:
        scenario = share.pinned(Scenario().with_value(path, None))
        assert share.encode(scenario)[path] == "none"
        assert share.decode(share.encode(scenario)) == scenario


def test_free_text_may_be_the_word_none():
    scenario = share.pinned(Scenario().with_value("finance.support_plan", "none"))
    assert share.decode(share.encode(scenario)) == scenario


def test_a_long_scenario_becomes_a_compressed_link_that_servers_accept():
    shape = [random.Random(1).random() for _ in range(168)]
    scenario = share.pinned(Scenario().with_values({"traffic.hourly_shape": shape, "about.notes": "试" * 2000}))
    address = share.url(scenario)
    assert set(share.encode(scenario)) == {"v", "s", "catalogue"}
    assert len(address) < 8000
    assert share.scenario_of_url(address) == scenario


def test_a_scenario_that_fits_no_address_is_refused_with_a_sentence_on_both_ways():
    dice = random.Random(2)
    names = ["".join(chr(dice.randrange(0x4E00, 0x9FFF)) for _ in range(80)) for _ in range(60)]
    with pytest.raises(GpudashError, match="does not fit into a link"):
        share.url(Scenario().with_value("requirements.providers_in", names))
    with pytest.raises(GpudashError, match="does not fit into a link"):
        share.decode({"requirements.providers_in": ",".join(names)})


def test_the_link_ends_with_the_date_so_that_no_program_cuts_off_its_last_character():
    assert share.url(Scenario().with_value("about.name", "Ready!")).endswith(f"&catalogue={snapshots()[-1]}")


def test_language_and_page_belong_to_the_reader_and_are_passed_over():
    assert share.scenario_of_url("?lang=zh&page=tco&v=1&workload.params_b=70").workload.params_b == 70


def test_a_link_written_by_hand_needs_no_version_and_no_date():
    assert share.scenario_of_url("?workload.model=llama-3.1-70b").workload.model == "llama-3.1-70b"
    assert share.scenario_of_url("") == Scenario()


def token(content: bytes) -> str:
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.urlsafe_b64encode(packed.compress(content) + packed.flush()).decode().rstrip("=")


HOSTILE = {
    "?v=2": "version",
    "?v=": "version",
    "?v=1&nothing.known=1": "There is no input",
    "?v=1&workload=70": "There is no input",
    "?v=1&workload.params_b=0": "must be above 0 and at most 5000",
    "?v=1&workload.params_b=nan": "must be a number",
    "?v=1&workload.params_b=1e999": "must be a number",
    "?v=1&workload.kind=mining": "choose one of",
    "?v=1&catalogue=2019-01-01": f"nearest is {snapshots()[0]}",
    "?v=1&catalogue=../../etc/passwd": "must be a date",
    "?v=1&v=1": "twice",
    "?v=1&about.name=%ff": "not a link",
    "hello": "not a link",
    "?" + "&".join(f"a{number}=1" for number in range(2_000)): "not a link",
    "?v=1&about.name=" + "x" * 70_000: "at most",
    "?v=1&storage.datasets=[": "cannot be read",
    "?v=1&storage.datasets=" + "[" * 20_000: "cannot be read",
    "?v=1&storage.datasets=a,1,2,3,4,5,6,7,8,9": "has an entry with 10 values",
    "?v=1&storage.datasets={}": "must be a list",
    "?v=1&storage.datasets=[" + "{a:%201}," * 6000 + "]": "cannot be read",  # YAML would take a fifth of a second
    "?v=1&" + "x" * 50_000 + "=1": "There is no input",
    "?v=1&traffic.hourly_shape=1,0": "168",
    "?v=1&s=": "damaged",
    "?v=1&s=%00%01": "damaged",
    "?v=1&s=AAAA": "damaged",
    "?v=1&s=" + "A" * 20_000: "at most",
    "?v=1&s=" + token(b"[" * 4_000_000)[:7000]: "damaged",
    "?v=1&s=" + token(b"0" * 4_000_000): "damaged",
    "?v=1&s=" + token(b"[" * 20_000): "cannot be read",
    "?v=1&s=" + token(b'{"a":' * 9_000): "cannot be read",
    "?v=1&s=" + token(b"[1]"): "damaged",
    "?v=1&s=" + token(b"\xff"): "damaged",
    "?v=1&s=" + token(b'{"unknown.input": 1}'): "There is no input",
    "?v=1&s=" + token(b'{"workload.params_b": {"a": [1]}}'): "must be a number",
    "?v=1&s=" + token(b"{}") + "AA": "damaged",
}


@pytest.mark.parametrize("address", HOSTILE, ids=lambda address: address[:40])
def test_a_link_that_cannot_be_meant_is_answered_with_one_sentence(address):
    with pytest.raises(GpudashError) as refusal:
        share.scenario_of_url(address)
    assert HOSTILE[address] in str(refusal.value)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize("case", LINKS, ids=lambda case: case["name"])
def test_old_links_decode_to_the_same_scenario_for_ever(case):
    assert share.scenario_of_url(case["link"]).changed() == case["changed"]


def row_cells(path: str) -> list[str]:
    entry = get_args(fields()[path].annotation)[0]
    return list(entry.model_fields) if isinstance(entry, type) and issubclass(entry, BaseModel) else []


@pytest.mark.parametrize("version", OMITTED)
def test_leaving_an_input_out_of_a_link_means_the_same_for_ever(version):
    """A default that changed needs a new VERSION and the old default in DEFAULTS_OF_VERSION."""
    meant = share.decode({"v": str(version)})
    plain = json.loads(meant.model_dump_json())
    found = {path: plain[path.split(".")[0]][path.split(".")[1]] for path in OMITTED[version]["defaults"]}
    assert found == OMITTED[version]["defaults"]


def test_every_input_is_pinned_for_the_newest_version_of_links():
    """A new input is added to golden/link_defaults.yaml; from then on its default must not change silently."""
    assert set(OMITTED[share.VERSION]["defaults"]) == set(fields())


def test_the_cells_of_a_row_keep_their_places():
    for path, cells in OMITTED[share.VERSION]["cells"].items():
        assert row_cells(path)[: len(cells)] == cells


def test_what_is_compared_travels_in_the_link_unless_it_is_too_long_and_the_first_scenario_always_does():
    short = Scenario().with_value("about.name", "50% | a&b=c ~ 杭州")
    notes = "".join(chr(0x4E00 + code) for code in random.Random(0).sample(range(20_000), 1500))
    long = Scenario().with_value("about.notes", notes)
    parameters = share.encode_compared(short, [short, Scenario()])
    assert share.decode_compared(parameters) == (share.pinned(short), share.pinned(Scenario()))
    assert share.decode(parameters) == share.pinned(short)
    assert share.scenario_of_url(share.compared_url(short, [Scenario()])) == share.pinned(short)
    assert share.encode_compared(short, [long, long, long]) == share.encode(short)
