"""What gpudash and its peers take for the same question, and whether they agree: `make bench-peers` prints the table.

Each peer is asked in an environment of its own; one that cannot be installed is said so in its line, and the others
still run. docs/performance.md holds what was printed, with what each does more or less. It prints, it never fails.
"""

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bench.evaluate import RANDOM_STATE, with_synthetic_offers
from bench.money import MIXES, SERVERS, YEARS, mix_both_ways
from bench.peers.ask import least_ms
from bench.peers.environments import NotAsked, ask
from bench.peers.inputs import SKYPILOT_CLOUD, write_for_gpuhunt, write_for_skypilot, write_table
from bench.scores import CRITERIA, OPTIONS, random_table
from fit.compare import LLM_ANALYSIS_CARDS
from gpudash import robustness
from gpudash.catalogue import Catalogue, load_catalogue
from gpudash.memory_rows import memory_rows
from gpudash.memory_setups import read_set_ups
from gpudash.scores import METHODS, normalised
from gpudash.serving_memory import kv_cache_gb, weights_gb
from gpudash.speed_rows import predict_rows
from gpudash.tables import DATA, read_columns
from gpudash.units import BYTES_PER_GB, HOURS_PER_WEEK

GPUS = ("A100-80GB SXM", "H100 SXM", "H200 SXM", "L40S", "MI300X")
SERVER = ("H100 SXM", 8)
OFFERS = (813, 100_000)
# A slow peer answers the first so many of the 10,000, and its time is multiplied.
WEIGHT_SETS = {"scikit-criteria": 200, "pymcdm": 1_000}
PREDICTIONS, PREDICTIONS_ASKED = 10_000, 1_000
EXACT = 1e-9  # relative


@dataclass(frozen=True)
class Line:
    """One question: how long both take, the peer's time for as much work as ours, and whether the answers agree."""

    question: str
    peer: str
    ours_ms: float
    theirs_ms: float
    agreement: str

    def __str__(self) -> str:
        ratio = self.theirs_ms / self.ours_ms
        return (
            f"| {self.question} | {self.peer} | {_ms(self.ours_ms)} | {_ms(self.theirs_ms)} | {ratio:,.0f} "
            f"| {self.agreement} |"
        )


def main() -> None:
    print(f"{date.today()}, {_machine()}; processor time, the least of several runs.\n")
    print("| question | peer | ours, ms | theirs, ms | times | the same answer? |")
    print("| --- | --- | ---: | ---: | ---: | --- |")
    weights = (weights_by(peer) for peer in WEIGHT_SETS)
    for lines in (offers_by_gpuhunt(), offers_by_skypilot(), mix_by_highs(), *weights, rows_by_llm_analysis()):
        try:
            for line in lines:
                print(line, flush=True)
        except NotAsked as why:
            print(f"| not asked: {why} | | | | | |")


def catalogues() -> Iterator[Catalogue]:
    """Offers with an on-demand price, for peers know no others: the first of the snapshot, and many synthetic ones."""
    catalogue = load_catalogue()
    priced = catalogue.offers.take(np.flatnonzero(np.isfinite(catalogue.offers.on_demand_usd_per_hour)))
    few, many = OFFERS
    yield catalogue.with_offers(priced.take(np.arange(few)))
    yield with_synthetic_offers(catalogue.with_offers(priced), many)


def cheapest_first(catalogue: Catalogue, **chosen) -> np.ndarray:
    """Rows of the chosen offers by their on-demand price."""
    rows = catalogue.rows_of(**chosen)
    return rows[np.argsort(catalogue.offers.on_demand_usd_per_hour[rows], kind="stable")]


def offers_by_gpuhunt() -> Iterator[Line]:
    for catalogue in catalogues():
        question = {"version": "1", "gpus": GPUS}
        answer = ask("gpuhunt", question, lambda folder, c=catalogue: write_for_gpuhunt(c, folder, "1"))
        ours = cheapest_first(catalogue, gpus=GPUS)
        theirs = answer["cheapest_first"]
        yield Line(
            f"offers of {len(GPUS)} GPUs, cheapest first, of {len(catalogue.offers):,}",
            f"gpuhunt {answer['version']}, `Catalog.query`",
            least_ms(lambda c=catalogue: cheapest_first(c, gpus=GPUS)),
            theirs["ms"],
            _same_order(catalogue, ours, theirs["rows"]),
        )


def offers_by_skypilot() -> Iterator[Line]:
    gpu, count = SERVER
    pattern = f"^({'|'.join(map(re.escape, GPUS))})$"
    for catalogue in catalogues():
        question = {"cloud": SKYPILOT_CLOUD, "pattern": pattern, "server": SERVER}
        answer = ask("skypilot", question, lambda folder, c=catalogue: write_for_skypilot(c, folder))
        peer, all_offers = f"SkyPilot {answer['version']}", f"of {len(catalogue.offers):,}"
        listed = [row for rows in answer["by_gpu"]["rows"].values() for row in rows]
        yield Line(
            f"offers of {len(GPUS)} GPUs, {all_offers}",
            f"{peer}, `list_accelerators`",
            least_ms(lambda c=catalogue: cheapest_first(c, gpus=GPUS)),
            answer["by_gpu"]["ms"],
            _said(set(listed) == set(catalogue.rows_of(gpus=GPUS).tolist()), "the same offers; theirs by GPU and name"),
        )

        def servers(c=catalogue):
            rows = cheapest_first(c, gpus=(gpu,))
            return rows[c.offers.gpus_per_server[rows] == count]

        yield Line(
            f"servers of {count} {gpu}, cheapest first, {all_offers}",
            f"{peer}, `get_instance_type_for_accelerator`",
            least_ms(servers),
            answer["cheapest_first"]["ms"],
            _same_order(catalogue, servers(), answer["cheapest_first"]["rows"]),
        )


def mix_by_highs() -> Iterator[Line]:
    for label, question in MIXES.items():
        by_layers, by_highs = mix_both_ways(*question)
        yield Line(
            f"cheapest mix, {SERVERS} servers, {HOURS_PER_WEEK} hours, {YEARS} years, {label}",
            f"HiGHS in scipy {version('scipy')}",
            least_ms(by_layers),
            least_ms(by_highs),
            _said(np.isclose(by_layers().total_usd, by_highs(), rtol=EXACT), "the same total"),
        )


def weights_by(peer: str) -> Iterator[Line]:
    asked, (matrix, objectives) = WEIGHT_SETS[peer], random_table()
    draws = np.random.default_rng(robustness.RANDOM_STATE).exponential(size=(robustness.DRAWS, CRITERIA))
    sets = np.array([normalised(draw) for draw in draws[:asked]])
    question = {"matrix": matrix.tolist(), "objectives": objectives, "weights": sets.tolist()}
    answer = ask(peer, question)
    for method in ("ratio", "topsis"):
        firsts = [int(METHODS[method](matrix, objectives, weights).argmax()) for weights in sets]
        yield Line(
            f"who is first by {method}, {robustness.DRAWS:,} weight sets, {OPTIONS} x {CRITERIA}",
            f"{peer} {answer['version']}, {asked:,} sets x {robustness.DRAWS // asked}",
            least_ms(lambda m=method: robustness.first_share(matrix, objectives, m)),
            answer[method]["ms"] * robustness.DRAWS / asked,
            _said(firsts == answer[method]["first"], f"the same first in all {asked:,}"),
        )


def rows_by_llm_analysis() -> Iterator[Line]:
    hardware, columns = load_catalogue().hardware, prediction_rows()
    asked = {name: column[:PREDICTIONS_ASKED] for name, column in columns.items()}
    answer = ask("llm-analysis", {"loads": "loads.csv"}, lambda folder: write_table(asked, folder / "loads.csv"))
    theirs = answer["memory_and_speed"]

    def ours():
        return predict_rows(columns, hardware), memory_rows(columns, hardware)

    yield Line(
        f"memory and speed of {PREDICTIONS:,} set-ups",
        f"llm-analysis {answer['version']}, {PREDICTIONS_ASKED:,} set-ups x {PREDICTIONS // PREDICTIONS_ASKED}",
        least_ms(ours),
        theirs["ms"] * PREDICTIONS / PREDICTIONS_ASKED,
        _same_bytes(columns, hardware, theirs["rows"]),
    )


def prediction_rows() -> dict[str, list[str]]:
    """Models, cards and formats of measured rows that the peer has entries for, each with a load of its own."""
    measured = read_columns(DATA / "measured" / "inference.csv")
    known = [row for row in range(len(measured["gpu"])) if _is_known(measured, row)]
    dice = np.random.default_rng(RANDOM_STATE)
    rows = dice.choice(known, PREDICTIONS)
    columns = {name: [column[row] for row in rows] for name, column in measured.items()}
    for name, most in (("batch_size", 8), ("context_tokens", 1024), ("output_tokens", 256)):
        columns[name] = [str(value) for value in dice.integers(1, most, PREDICTIONS, endpoint=True)]
    return columns | {"phase": ["end_to_end"] * PREDICTIONS}


def _is_known(columns: dict[str, list[str]], row: int) -> bool:
    """16-bit weights of a dense model, tensor parallel on a card that the peer has an entry for."""
    cells = {name: column[row] for name, column in columns.items()}
    return (
        cells["gpu"] in LLM_ANALYSIS_CARDS
        and cells["weight_precision"] in ("fp16", "bf16")
        and cells["kv_precision"] in ("", "fp16", "bf16")
        and cells["params_b"] == cells["active_params_b"]
        and not cells["parallelism"]
        and not cells["caveat"]
    )


def _same_bytes(columns: dict[str, list[str]], hardware, theirs: list[dict | None]) -> str:
    """Weights and cache of the rows that the peer answers; its cache is one GPU's, for context and output."""
    ours = read_set_ups(columns, hardware, unstated_context_tokens=0)
    weights, caches = [], []
    for row, found in enumerate(theirs):
        if found is None:
            continue
        one = ours.set_up[row]
        tokens = ours.context_tokens[row] + int(columns["output_tokens"][row])
        cache = kv_cache_gb(one.model, tokens, ours.batch_size[row], tensor_parallel=one.tensor_parallel)
        gpus = one.gpu_count / BYTES_PER_GB
        weights.append(found["weight_memory_per_gpu"] * gpus / weights_gb(one.model, one.weight_precision) - 1)
        caches.append(found["kv_cache_memory_per_gpu"] * gpus / cache - 1)
    same = np.mean(np.abs(caches) < EXACT)
    return (
        f"{len(caches):,} of {len(theirs):,} answered; cache the same bytes in {same:.0%}, "
        f"weights {np.median(np.abs(weights)):.1%} apart at the median"
    )


def _same_order(catalogue: Catalogue, ours: np.ndarray, theirs: list[int]) -> str:
    """Offers of one price may stand in any order."""
    prices = catalogue.offers.on_demand_usd_per_hour
    same = set(ours.tolist()) == set(theirs) and np.array_equal(prices[ours], prices[theirs])
    return _said(same, f"the same {len(ours):,} in the same order of price")


def _said(same: bool, what: str) -> str:
    return f"yes: {what}" if same else f"NO, it should be {what}"


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _machine() -> str:
    """Python, numpy, and the processor where the system tells it."""
    facts = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", facts.read_text(encoding="utf-8")) if facts.exists() else []
    processor = names[0] if names else platform.machine()
    return f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores of {processor}"


if __name__ == "__main__":
    main()
