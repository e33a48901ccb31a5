"""Decision trees: every branch is reached, no value falls between two, and every step says what happened."""

import re

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.claims import claims
from gpudash.errors import GpudashError
from gpudash.figures import recommendation
from gpudash.tables import DATA, parse_yaml, read_columns
from gpudash.text import LANGUAGES, Text
from gpudash.tree import load_tree, tree_names, tree_of, walk

FACTS = {
    "kind": "inference",
    "params_b": 0.5,
    "budget_hard": False,
    "peak_to_mean": 1.5,
    "framework": "pytorch",
    "residency": False,
    "horizon_months": 36,
    "longest_commitment_months": 36,
    "core_metric": "inference",
    "measured_loads": 3,
}
GATES = ("residency", "provider", "requirements", "memory", "latency", "price", "budget")


def four_candidates(**changes) -> dict[str, np.ndarray]:
    """A T4, an A10, an A100 and an H100 that pass every gate; the A10 scores best."""
    gates = {f"gate_{gate}": np.ones(4, dtype=bool) for gate in GATES}
    return {
        **gates,
        "gpu": np.array(["T4", "A10", "A100-80GB SXM", "H100 SXM"]),
        "sla_percent": np.array([99.95, 99.99, 99.95, np.nan]),
        "support_response_minutes": np.array([10.0, 5.0, 15.0, 5.0]),
        "first": np.array([False, True, False, False]),
        **{name: np.array(column) for name, column in changes.items()},
    }


NONE = [False] * 4
# tree, what differs from FACTS, what differs from the four candidates, the leaf, who is left
WALKS = [
    ("article_five_steps", {}, {}, "shortlist", [0, 1]),
    ("article_five_steps", {"params_b": 0.05}, {}, "shortlist", [0]),
    ("article_five_steps", {"params_b": 1}, {}, "shortlist", [0, 1]),
    ("article_five_steps", {"params_b": 70, "peak_to_mean": 2, "framework": "jax"}, {}, "shortlist", [2]),
    ("article_five_steps", {"budget_hard": True}, {}, "shortlist", [0]),
    ("article_five_steps", {"params_b": 70, "budget_hard": True}, {}, "nobody", []),
    ("article_five_steps", {}, {"sla_percent": [np.nan] * 4}, "nobody", []),
    ("article_five_stages", {}, {}, "shortlist", [0, 1]),
    ("article_five_stages", {"core_metric": "training", "framework": "any"}, {}, "shortlist", [0, 1]),
    ("article_five_stages", {"measured_loads": 2, "horizon_months": 5}, {}, "shortlist", [0, 1]),
    ("article_five_stages", {}, {"sla_percent": [99.94, 99.5, 99, np.nan]}, "nobody_available", []),
    ("article_five_stages", {}, {"support_response_minutes": [11, 15, np.nan, 15]}, "nobody_responds", []),
    ("article_five_stages", {}, {"gate_latency": NONE}, "nobody_fast", []),
    ("article_five_stages", {"core_metric": "real_time"}, {"gate_latency": NONE}, "nobody_available", []),
    ("gpudash", {}, {}, "recommended", [1]),
    ("gpudash", {"kind": "training"}, {}, "recommended", [1]),
    ("gpudash", {"residency": True}, {"gate_residency": [False, True, True, True]}, "recommended", [1]),
    ("gpudash", {"residency": True}, {"gate_residency": NONE}, "no_region", []),
    ("gpudash", {}, {"gate_residency": NONE}, "no_region", []),
    ("gpudash", {}, {"gate_provider": NONE}, "no_provider", []),
    ("gpudash", {}, {"gate_requirements": NONE}, "no_requirements", []),
    ("gpudash", {}, {"gate_memory": NONE}, "no_memory", []),
    ("gpudash", {}, {"gate_latency": NONE}, "no_latency", []),
    ("gpudash", {"kind": "fine_tuning"}, {"gate_latency": NONE}, "no_deadline", []),
    ("gpudash", {}, {"gate_price": NONE}, "no_price", []),
    ("gpudash", {}, {"gate_budget": NONE}, "no_budget", []),
    ("gpudash", {}, {"first": NONE}, "no_score", []),
]


def walked(name, facts, changes):
    return walk(load_tree(name), {**FACTS, **facts}, four_candidates(**changes))


@pytest.mark.parametrize(("name", "facts", "changes", "leaf", "left"), WALKS)
def test_a_walk_ends_at_its_leaf_with_the_right_candidates(name, facts, changes, leaf, left):
    path = walked(name, facts, changes)
    assert path.outcome.code == f"tree.{name}.leaf.{leaf}"
    assert path.left.tolist() == left


@pytest.mark.parametrize("name", tree_names())
def test_every_node_and_every_branch_and_every_leaf_is_reached(name):
    tree = load_tree(name)
    paths = [walked(*case[:3]) for case in WALKS if case[0] == name]
    branches = {tree.sentence(node, branch) for node in tree.nodes.values() for branch in node.branches}
    leaves = {f"tree.{name}.leaf.{b.leaf}" for node in tree.nodes.values() for b in node.branches if b.leaf}
    assert {step.node for path in paths for step in path.steps} == set(tree.nodes)
    assert {step.branch for path in paths for step in path.steps} == branches
    assert {path.outcome.code for path in paths} == leaves


@pytest.mark.parametrize("case", WALKS)
def test_the_candidates_of_a_walk_add_up_step_by_step(case):
    path = walked(*case[:3])
    left_before = 4
    for step in path.steps:
        assert step.candidates_before == left_before
        assert step.candidates_left == left_before - len(step.fell)
        assert (step.because is None) == (len(step.fell) == 0)
        left_before = step.candidates_left
    fallen = np.concatenate([step.fell for step in path.steps])
    assert sorted([*fallen, *path.left]) == [0, 1, 2, 3]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("case", WALKS)
def test_a_path_can_be_read_aloud(language, case):
    text = Text(language)
    path = walked(*case[:3])
    for step in path.steps:
        said = [text(step.question), text(step.branch), *map(text, step.not_taken)]
        said += [text.say(message) for message in (step.because, step.margin_words, step.unit) if message]
        assert not any(re.search(r"[{}_]|nan", sentence) for sentence in said)
    assert text.say(path.outcome)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", tree_names())
def test_every_sentence_a_tree_may_need_exists(language, name):
    tree, keys = load_tree(name), {f"tree.{name}"}
    for node in tree.nodes.values():
        keys |= {tree.question(node)} | {tree.sentence(node, branch) for branch in node.branches}
        keys |= {f"tree.{name}.leaf.{branch.leaf}" for branch in node.branches if branch.leaf}
        if node.numeric:
            keys |= {f"tree.margin.{node.fact}.{side}" for side in ("above", "at", "below")}
        if node.keep or any(branch.keep for branch in node.branches):
            keys.add(f"tree.{name}.{node.key}.fell")
    assert {key for key in keys if not Text(language).has(key)} == set()


@pytest.mark.parametrize(
    ("params_b", "branch", "margin"),
    [
        (0.0999, "tiny", -0.0001),
        (0.1, "small", 0),
        (0.9999, "small", -0.0001),
        (1, "exactly_1_b", 0),
        (1.0001, "large", 0.0001),
    ],
)
def test_the_limits_of_the_first_article_are_decided_one_way(params_b, branch, margin):
    step = walked("article_five_steps", {"params_b": params_b}, {}).steps[0]
    assert step.branch.endswith(f".{branch}")
    assert step.margin == pytest.approx(margin)
    assert step.ours == (branch in {"tiny", "exactly_1_b"})


def test_a_step_tells_how_far_the_fact_is_from_the_nearest_limit():
    step = walked("article_five_steps", {"params_b": 70}, {}).steps[0]
    assert (step.value, step.threshold, step.margin) == (70, 1, 69)
    assert step.fell.tolist() == [0, 1, 3]
    assert Text("en").say(step.margin_words) == (
        "The model has 70 billion parameters, 69 billion above the limit of 1 billion."
    )


def test_the_reason_names_the_limit_as_it_stands_in_the_tree():
    step = next(step for step in walked("article_five_stages", {}, {}).steps if step.node == "kpi_availability")
    assert "99.95%" in Text("en").say(step.because)


def test_a_limit_may_be_another_fact():
    short = {"horizon_months": 12, "longest_commitment_months": 36}
    step = next(step for step in walked("article_five_stages", short, {}).steps if step.node == "commitment")
    assert step.branch.endswith(".too_short") and (step.threshold, step.margin) == (36, -24)


def test_a_published_tree_that_contradicts_itself_leaves_nobody_and_says_so():
    path = walked("article_five_steps", {"params_b": 70, "budget_hard": True}, {})
    assert path.steps[1].candidates_left == 0 and len(path.steps) == 5
    assert Text("en").say(path.outcome) == "The article's five steps leave no candidate."


@pytest.mark.parametrize("name", tree_names())
def test_no_candidates_at_all_is_an_answer(name):
    path = walk(load_tree(name), FACTS, {name: column[:0] for name, column in four_candidates().items()})
    assert len(path.left) == 0 and path.steps


def test_the_cards_a_tree_names_exist_in_the_hardware_table():
    known = set(read_columns(DATA / "hardware.csv")["gpu"])
    for node in load_tree("article_five_steps").nodes.values():
        for branch in node.branches:
            assert {gpu for rule in branch.keep if rule.column == "gpu" for gpu in rule.wanted} <= known


def test_every_node_names_its_source():
    assert all(node.source for name in tree_names() for node in load_tree(name).nodes.values())


@pytest.mark.parametrize("missing", [{"params_b": None}, {"params_b": float("nan")}])
def test_a_fact_that_nobody_knows_is_asked_for_by_name(missing):
    with pytest.raises(GpudashError) as refused:
        walked("article_five_steps", missing, {})
    assert (refused.value.code, refused.value.values) == ("tree.error_fact", {"fact": "params_b"})


def test_a_column_the_candidates_lack_is_named():
    columns = four_candidates()
    del columns["gate_memory"]
    with pytest.raises(GpudashError) as refused:
        walk(load_tree("gpudash"), FACTS, columns)
    assert refused.value.values == {"column": "gate_memory"}


def test_an_unknown_tree_is_answered_with_the_known_ones():
    with pytest.raises(GpudashError) as refused:
        load_tree("oak")
    assert all(name in str(refused.value) for name in tree_names())


def small_tree(branches: str, more: str = ""):
    return parse_yaml(
        "source: a test\nas_of: 2026\nstart: size\nnodes:\n"
        f"  size: {{fact: x, source: a test, branches: {{{branches}}}}}\n{more}"
    )


@pytest.mark.parametrize(
    ("branches", "code"),
    [
        ("a: {below: 1, leaf: l}, b: {at_least: 2, leaf: l}", "tree.error_branches"),
        ("a: {below: 2, leaf: l}, b: {at_least: 1, leaf: l}", "tree.error_branches"),
        ("a: {below: 1, leaf: l}, b: {above: 1, leaf: l}", "tree.error_branches"),
        ("a: {at_most: 1, leaf: l}, b: {at_least: 1, leaf: l}", "tree.error_branches"),
        ("a: {at_least: 0, below: 1, leaf: l}, b: {at_least: 1, leaf: l}", "tree.error_branches"),
        ("a: {below: 1, leaf: l}, b: {at_least: 1, below: 9, leaf: l}", "tree.error_branches"),
        ("a: {in: [red], leaf: l}, b: {in: [blue], leaf: l}", "tree.error_branches"),
        ("a: {in: [red], leaf: l}, b: {in: [red], leaf: l}, c: {otherwise: true, leaf: l}", "tree.error_branches"),
        ("a: {in: [true], leaf: l}", "tree.error_branches"),
        ("a: {below: 1}, b: {at_least: 1, leaf: l}", "tree.error_leads_nowhere"),
        ("a: {below: 1, leaf: l, go: size}, b: {at_least: 1, leaf: l}", "tree.error_leads_nowhere"),
        ("a: {below: 1, go: nowhere}, b: {at_least: 1, leaf: l}", "tree.error_no_node"),
        ("a: {below: 1, go: size}, b: {at_least: 1, leaf: l}", "tree.error_circle"),
    ],
)
def test_a_tree_in_which_a_walk_could_get_lost_is_refused(branches, code):
    with pytest.raises(GpudashError) as refused:
        tree_of("small", small_tree(branches))
    assert refused.value.code == code
    assert all(Text(language).has(code) for language in LANGUAGES)


def test_a_node_that_no_branch_leads_to_is_refused():
    island = "  island: {fact: y, source: a test, branches: {a: {in: [true], leaf: l}, b: {in: [false], leaf: l}}}\n"
    with pytest.raises(GpudashError) as refused:
        tree_of("small", small_tree("a: {below: 1, leaf: l}, b: {at_least: 1, leaf: l}", island))
    assert refused.value.code == "tree.error_unreached"


def test_a_tree_stands_on_claims_of_the_audit():
    known = {claim.id for claim in claims()}
    named = {node.claim for name in tree_names() for node in load_tree(name).nodes.values() if node.claim}
    assert named and named <= known


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_a_published_tree_loses_our_answer_the_claim_at_fault_is_named(language):
    result = evaluate(Scenario(), load_catalogue())
    five_steps, *_ = recommendation.agreement(result, Text(language))
    assert "S1-31" in five_steps and Text(language)("claims.verdict_contradicted") in five_steps


def test_whoever_fell_at_a_step_stands_there_with_a_reason():
    result, text = evaluate(Scenario(), load_catalogue()), Text("en")
    for name, steps in recommendation.fallen_steps(result, text).items():
        for number in steps:
            shown = recommendation.fallen_at(result, text, name, number)
            assert len(shown) == len(result.path[name].steps[number].fell)
            assert all(shown.columns[-1].values)


@pytest.mark.parametrize("changes", [{}, {"budget.amount": 500}, {"requirements.countries": ("EU",)}])
def test_our_tree_counts_the_very_offers_that_the_gates_let_through(changes):
    catalogue = load_catalogue()
    result = evaluate(Scenario().with_values(changes), catalogue)
    *_, scored = result.path["gpudash"].steps
    assert scored.candidates_before == len(catalogue.offers) - len(result.rejected.offer_rows)
