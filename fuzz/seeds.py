"""Where the search starts: honest inputs of each target, from what the project and its tests hold already."""

import json
from collections.abc import Iterable

import yaml

from fuzz.targets import ANSWERS
from gpudash import share
from gpudash.scenario import Scenario, choices, fields
from gpudash.tables import DATA

TESTS = DATA.parent / "tests"
ROWS_OF_A_SHEET = 4
SIGNS = {*"&=~,%[]{}:\n", "none", "nan", "1e999", "-1", "\u2028", "\x85", "\u202e"}
NAMES = (
    "A&B 50% +1 =x #2 <b>\"杭州\"</b> 'x'",
    '=HYPERLINK("http://x","y")',
    "](javascript:alert(1)) `x` $x$",
    "a\u2028b: c\n- d",
    "🚀 مرحبا",
)
REQUESTS = (
    {"demand": [[2, 3]], "firm": [[1, 1]], "on_demand_usd_per_hour": 2, "spot_usd_per_hour": 1,
     "reserved_1y_usd_per_hour": None, "reserved_3y_usd_per_hour": 0.5},
    {"datasets": [{"name": "hot", "size_gb": 250, "reads_gb_per_month": 0, "max_latency_ms": 10, "kept_days": 365}],
     "tiers": [{"name": "fast", "usd_per_gb_month": 0.15, "latency_ms": 5}]},
    {"options": ["a", "b"], "criteria": [{"name": "x", "objective": "min", "weight": 0.5}], "matrix": [[10.1], [10]]},
)  # fmt: skip
COMMANDS = (
    ("memory", "--model", "llama-3.1-70b", "--gpu", "H100 SXM", "--gpus", "4", "--batch", "8"),
    ("memory", "--method", "lora", "--optimizer", "adamw", "--set", "workload.params_b=7"),
    ("speed", "--model", "llama-3.1-70b", "--gpu", "H100 SXM", "--gpus", "4", "--batch", "16"),
    ("formula", "--base", "9", "--reserved-discount", "0", "--burst", "5", "--region-premium", "0"),
    ("link", "--set", "about.name=杭州", "--set", "storage.datasets=a,1~b,2"),
    ("open", "?v=1&workload.params_b=70"),
    ("tree", "gpudash", "--set", "workload.kind=training"),
    ("claims", "--language", "zh"),
    ("catalogue", "show"),
    ("catalogue", "diff", "2026-11-30", "2026-11-30"),
    ("evaluate", "--help"),
)  # fmt: skip


def seeds(target: str) -> list[bytes]:
    return [seed.encode() if isinstance(seed, str) else seed for seed in _SEEDS[target]()]


def mutated(content: bytes, edits: Iterable[tuple[int, int, bytes]]) -> bytes:
    """An input with some of its bytes replaced; an edit is a place (counted round and round), how many, and by what."""
    edited = bytearray(content)
    for place, removed, added in edits:
        start = place % (len(edited) + 1)
        edited[start : start + removed] = added
    return bytes(edited)


def words() -> list[bytes]:
    """What inputs are made of: names of inputs, of choices, and signs that mean something somewhere."""
    names = {part for path in fields() for part in (path, *path.split("."), *(str(word) for word in choices(path)))}
    return sorted(word.encode() for word in names | SIGNS)


def _links() -> Iterable[str]:
    cases = yaml.safe_load((TESTS / "golden" / "links.yaml").read_text(encoding="utf-8"))
    links = [case["link"] for case in cases]
    return [*links, share.compared_url(Scenario(), [share.scenario_of_url(links[1]), Scenario()])]


def _scenarios() -> Iterable[bytes]:
    files = [path.read_bytes() for path in sorted((DATA / "scenarios").glob("*.yaml"))]
    return [*files, json.dumps(Scenario().model_dump(mode="json")).encode()]


def _sheets() -> Iterable[bytes]:
    newest = max((DATA / "prices").iterdir())
    files = [newest / "offers.csv", TESTS / "feeds" / "gpuhunt_aws.csv", TESTS / "feeds" / "skypilot_aws.csv"]
    for file in files:
        start = b"".join(file.read_bytes().splitlines(keepends=True)[:ROWS_OF_A_SHEET])
        yield from (bytes([answered]) + start for answered in range(len(ANSWERS)))


def _tables() -> Iterable[bytes]:
    """Some rows of each file, from its beginning to its end."""
    for file in sorted((DATA / "measured").glob("*.csv")):
        heading, *rows = file.read_bytes().splitlines(keepends=True)
        yield b"".join([heading, *rows[:: len(rows) // ROWS_OF_A_SHEET]])


_SEEDS = {
    "link": _links,
    "scenario": _scenarios,
    "answer": _scenarios,
    "sheet": _sheets,
    "table": _tables,
    "request": lambda: map(json.dumps, REQUESTS),
    "command": lambda: map("\n".join, COMMANDS),
    "names": lambda: NAMES,
}
