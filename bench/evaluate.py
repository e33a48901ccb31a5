"""How long an answer takes, and how that grows with the number of offers: `make bench`. It prints, it never fails."""

import statistics
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np

from gpudash.catalogue import Catalogue, load_catalogue
from gpudash.evaluate import evaluate
from gpudash.scenario import Scenario

QUESTION = {"workload.model": "llama-3.1-70b", "traffic.peak_requests_per_s": 20}
OFFERS = (1_000, 10_000, 100_000, 1_000_000)
PRICES = ("on_demand", "spot", "reserved_1y", "reserved_3y", "monthly")
RANDOM_STATE = 20261130


def main() -> None:
    command = [sys.executable, "-m", "gpudash", "evaluate"]
    command += [part for path, value in QUESTION.items() for part in ("--set", f"{path}={value}")]
    whole = median_s(lambda: subprocess.run(command, check=True, capture_output=True), runs=5)
    print(f"{whole:8.2f} s   python -m gpudash evaluate, whole process")
    catalogue, scenario = load_catalogue(), Scenario().with_values(QUESTION)
    alone = median_s(lambda: evaluate(scenario, catalogue), runs=15)
    print(f"{alone * 1000:8.1f} ms  evaluate, {len(catalogue.offers)} offers")
    for count in OFFERS:
        larger = with_synthetic_offers(catalogue, count)
        taken = median_s(lambda larger=larger: evaluate(scenario, larger), runs=3)
        print(f"{taken * 1000:8.1f} ms  evaluate, {count:,} synthetic offers")


def with_synthetic_offers(catalogue: Catalogue, count: int) -> Catalogue:
    """The catalogue with `count` offers drawn from its own, their prices within 20 % of the original."""
    dice = np.random.default_rng(RANDOM_STATE)
    offers = catalogue.offers.take(dice.integers(0, len(catalogue.offers), count))
    factor = dice.uniform(0.8, 1.2, count)
    prices = {name: getattr(offers, name) * factor for name in (f"{kind}_usd_per_hour" for kind in PRICES)}
    return catalogue.with_offers(replace(offers, **prices))


def median_s(work, runs: int) -> float:
    """Median wall time of several runs after one that fills the caches."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
