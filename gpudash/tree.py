"""Decision trees are data: `walk(tree, facts, columns)` follows one and keeps every step.

A node asks about one fact and has branches that share out all its possible values; a node or a branch may `keep`
only the candidates that meet conditions on their columns. A branch goes on to another node or ends in a leaf.
Sentences follow from the names (topic tree): `<tree>.<node>` is the question, `<tree>.<node>.<branch>` the branch,
`<tree>.<node>.fell` why candidates fell there, `<tree>.leaf.<leaf>` the outcome, `margin.<fact>.<side>` the margin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf, isnan

import numpy as np

from gpudash.errors import GpudashError
from gpudash.result import Message
from gpudash.tables import DATA, read_yaml

TREES = DATA / "trees"
CANDIDATES_LEFT = "candidates_left"  # the fact that every walk knows: how many candidates a node's `keep` left


@dataclass(frozen=True)
class Condition:
    """What a candidate's column must meet: one of `is`, `in`, `at_least`, `at_most` or `known`.

    A limit may be the name of a fact. An unknown value (NaN) meets nothing.
    """

    column: str
    test: str
    wanted: object

    def holds(self, columns: Mapping[str, np.ndarray], facts: Mapping) -> np.ndarray:
        """Which candidates meet it; a column that nobody gave is refused by name."""
        if self.column not in columns:
            raise GpudashError("tree.error_column", column=self.column)
        values = np.asarray(columns[self.column])
        match self.test:
            case "in":
                return np.isin(values, self.wanted)
            case "is":
                return values == self.wanted
            case "at_least":
                return values >= _value(self.wanted, facts)
            case "at_most":
                return values <= _value(self.wanted, facts)
            case "known":
                return np.isnan(values) != self.wanted


@dataclass(frozen=True)
class Branch:
    """One answer to a node's question.

    `low` and `high` bound a number (or name the fact that does), each bound inside the branch or not; `values` lists
    the words or yes/no it stands for, None meaning every word that no other branch takes.
    """

    key: str
    low: float | str
    low_inside: bool
    high: float | str
    high_inside: bool
    values: tuple | None
    keep: tuple[Condition, ...]
    go: str | None
    leaf: str | None
    ours: bool

    def takes(self, value: float, facts: Mapping) -> bool:
        """Whether a number lies in the branch."""
        low, high = _value(self.low, facts), _value(self.high, facts)
        return (low < value or (self.low_inside and low == value)) and (
            value < high or (self.high_inside and value == high)
        )


@dataclass(frozen=True)
class Node:
    """A question about one fact; `numeric` says whether its branches are ranges of numbers or lists of words."""

    key: str
    fact: str
    numeric: bool
    keep: tuple[Condition, ...]
    branches: tuple[Branch, ...]
    source: str
    claim: str | None  # the claim of the audit that the node stands on
    ours: bool


@dataclass(frozen=True)
class Tree:
    """A checked decision tree: every node reached, no way round in circles, no value between two branches."""

    key: str
    source: str
    as_of: str
    start: str
    nodes: Mapping[str, Node]

    @property
    def name(self) -> str:
        """The text key of its name."""
        return f"tree.{self.key}"

    def question(self, node: Node) -> str:
        """The text key of a node's question."""
        return f"tree.{self.key}.{node.key}"

    def sentence(self, node: Node, branch: Branch) -> str:
        """The text key of a branch."""
        return f"tree.{self.key}.{node.key}.{branch.key}"


@dataclass(frozen=True)
class Step:
    """One answered question.

    `question`, `branch` and `not_taken` (the other branches) are text keys; `fell` are positions in the candidates'
    columns. `threshold` is the limit nearest to the value, or the words that belong to the branch; `margin` is
    value − threshold (None for words).
    """

    node: str
    question: str
    fact: str
    value: float | str | bool
    unit: Message | None
    threshold: float | tuple | None
    margin: float | None
    margin_words: Message | None
    branch: str
    not_taken: tuple[str, ...]
    candidates_before: int
    candidates_left: int
    fell: np.ndarray
    because: Message | None
    source: str
    claim: str | None
    ours: bool


@dataclass(frozen=True)
class Path:
    """The way through a tree; `left` are the candidates that remain, `outcome` the sentence at its end."""

    tree: str
    steps: tuple[Step, ...]
    outcome: Message
    left: np.ndarray


def tree_names() -> tuple[str, ...]:
    """The trees of data/trees."""
    return tuple(sorted(path.stem for path in TREES.glob("*.yaml")))


@cache
def load_tree(name: str) -> Tree:
    """A tree by name, checked; an unknown name is refused with the known ones."""
    if name not in tree_names():
        raise GpudashError("tree.error_unknown", name=str(name), allowed=", ".join(tree_names()))
    return tree_of(name, read_yaml(TREES / f"{name}.yaml"))


# ---- walking -----------------------------------------------------------------------------------------------------


def walk(tree: Tree, facts: Mapping[str, float | str | bool], columns: Mapping[str, np.ndarray]) -> Path:
    """Follows a tree from its start to a leaf and keeps each step.

    `columns` holds one entry per candidate. Nobody left is an answer: the walk goes on to a leaf that says it.
    A fact or a column the tree asks for and nobody gave is refused by name.
    """
    stays = np.ones(len(next(iter(columns.values()), ())), dtype=bool)
    steps, node = [], tree.nodes[tree.start]
    while True:
        before = stays
        stays = _keep(node.keep, stays, columns, facts)
        known = {**facts, CANDIDATES_LEFT: int(stays.sum())}
        branch = _branch(node, known)
        stays = _keep(branch.keep, stays, columns, facts)
        steps.append(_step(tree, node, branch, known, (before, stays)))
        if branch.leaf:
            outcome = Message.of(f"tree.{tree.key}.leaf.{branch.leaf}", left=int(stays.sum()))
            return Path(tree.key, tuple(steps), outcome, np.flatnonzero(stays))
        node = tree.nodes[branch.go]


def _keep(conditions, stays: np.ndarray, columns, facts) -> np.ndarray:
    for condition in conditions:
        stays = stays & condition.holds(columns, facts)
    return stays


def _branch(node: Node, facts: Mapping) -> Branch:
    value = _value(node.fact, facts)
    if node.numeric:
        return next(branch for branch in node.branches if branch.takes(value, facts))
    named = (branch for branch in node.branches if branch.values is not None and value in branch.values)
    return next(named, None) or next(branch for branch in node.branches if branch.values is None)


def _step(tree: Tree, node: Node, branch: Branch, facts: Mapping, stays: tuple[np.ndarray, np.ndarray]) -> Step:
    value, (before, after) = facts[node.fact], stays
    fell = np.flatnonzero(before & ~after)
    counts = {"before": int(before.sum()), "left": int(after.sum()), "fell": len(fell)}
    threshold, margin, words = branch.values, None, None
    if node.numeric:
        limits = [limit for limit in (_value(branch.low, facts), _value(branch.high, facts)) if abs(limit) < inf]
        threshold = min(limits, key=lambda limit: abs(value - limit))
        margin = value - threshold
        side = "at" if margin == 0 else "above" if margin > 0 else "below"
        words = Message.of(
            f"tree.margin.{node.fact}.{side}", value=value, threshold=threshold, distance=abs(margin), **counts
        )
    conditions = (*node.keep, *branch.keep)
    limits = {c.column: c.wanted if isinstance(c.wanted, tuple) else str(c.wanted) for c in conditions}  # unrounded
    return Step(
        node=node.key,
        question=tree.question(node),
        fact=node.fact,
        value=value,
        unit=Message.of(f"tree.unit.{node.fact}") if node.numeric else None,
        threshold=threshold,
        margin=margin,
        margin_words=words,
        branch=tree.sentence(node, branch),
        not_taken=tuple(tree.sentence(node, other) for other in node.branches if other is not branch),
        candidates_before=counts["before"],
        candidates_left=counts["left"],
        fell=fell,
        because=Message.of(f"tree.{tree.key}.{node.key}.fell", **counts, **limits) if len(fell) else None,
        source=node.source,
        claim=node.claim,
        ours=node.ours or branch.ours,
    )


def _value(name, facts: Mapping):
    """A number as it is; a name as the fact it stands for."""
    if not isinstance(name, str):
        return name
    value = facts.get(name)
    if value is None or (isinstance(value, float) and isnan(value)):
        raise GpudashError("tree.error_fact", fact=name)
    return value


# ---- reading and checking ----------------------------------------------------------------------------------------

_RANGE = ("at_least", "above", "below", "at_most")


def tree_of(key: str, content: Mapping) -> Tree:
    """A tree from the plain values of its file; refused if a value could fall between branches, a branch leads
    nowhere, a node is never reached, or the way can go round in circles."""
    nodes = {name: _node(key, name, row) for name, row in content["nodes"].items()}
    tree = Tree(key, content["source"], str(content["as_of"]), content["start"], nodes)
    reached = _reached(tree, tree.start, ())
    unreached = sorted(set(nodes) - reached)
    if unreached:
        raise GpudashError("tree.error_unreached", tree=key, node=unreached[0])
    return tree


def _node(tree: str, key: str, row: Mapping) -> Node:
    numeric = any(set(_RANGE) & set(branch) for branch in row["branches"].values())
    branches = tuple(_branch_of(name, branch) for name, branch in row["branches"].items())
    shared_out = _ranges_meet(branches) if numeric else _words_covered(row["branches"].values(), branches)
    if not shared_out:
        raise GpudashError("tree.error_branches", tree=tree, node=key)
    if any((branch.go is None) == (branch.leaf is None) for branch in branches):
        raise GpudashError("tree.error_leads_nowhere", tree=tree, node=key)
    return Node(
        key, row["fact"], numeric, _conditions(row), branches, row["source"], row.get("claim"), row.get("ours", False)
    )


def _branch_of(key: str, row: Mapping) -> Branch:
    return Branch(
        key=key,
        low=row.get("at_least", row.get("above", -inf)),
        low_inside="at_least" in row,
        high=row.get("at_most", row.get("below", inf)),
        high_inside="at_most" in row,
        values=None if row.get("otherwise") else tuple(row.get("in", ())),
        keep=_conditions(row),
        go=row.get("go"),
        leaf=row.get("leaf"),
        ours=row.get("ours", False),
    )


def _conditions(row: Mapping) -> tuple[Condition, ...]:
    return tuple(
        Condition(rule["column"], test, tuple(wanted) if isinstance(wanted, list) else wanted)
        for rule in row.get("keep", ())
        for test, wanted in rule.items()
        if test != "column"
    )


def _ranges_meet(branches: tuple[Branch, ...]) -> bool:
    """In the order written: from −∞ to ∞, each limit inside exactly one of the two branches it parts."""
    meet = all(one.high == two.low and one.high_inside != two.low_inside for one, two in pairwise(branches))
    bounds = [branch.low for branch in branches if not isinstance(branch.low, str)]
    return meet and branches[0].low == -inf and branches[-1].high == inf and bounds == sorted(bounds)


def _words_covered(rows, branches: tuple[Branch, ...]) -> bool:
    """No word in two branches; all others caught by one `otherwise`, unless the branches are yes and no."""
    words = [word for branch in branches for word in branch.values or ()]
    others = sum(bool(row.get("otherwise")) for row in rows)
    return len(set(words)) == len(words) and (others == 1 or (others == 0 and set(words) == {True, False}))


def _reached(tree: Tree, key: str, way: tuple[str, ...]) -> set[str]:
    if key in way or key not in tree.nodes:
        code = "tree.error_circle" if key in way else "tree.error_no_node"
        raise GpudashError(code, tree=tree.key, node=key)
    following = [_reached(tree, branch.go, (*way, key)) for branch in tree.nodes[key].branches if branch.go]
    return {key}.union(*following)
