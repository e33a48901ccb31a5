"""How long the slowest of a thousand mutated and of some hostile links takes: `python -m bench.links` prints it."""

import random
import time
from contextlib import suppress
from urllib.parse import quote

from fuzz.seeds import mutated, seeds, words
from gpudash import share
from gpudash.errors import GpudashError

LINKS = 1_000
RANDOM_STATE = 20261130
HOSTILE = {
    "a list of many rows": "?v=1&storage.datasets=" + "a,1~" * 14_000,
    "a list of many words": "?v=1&requirements.providers_in=" + "a," * 29_000,
    "YAML instead of JSON": "?v=1&storage.datasets=[" + "{a:%201}," * 6_000 + "]",
    "deep brackets": "?v=1&storage.datasets=" + quote("[" * 50_000, safe="["),
    "an endless number": "?v=1&workload.params_b=" + "9" * 59_000,
    "an endless name": "?" + "x" * 59_000 + "=1",
}


def main() -> None:
    dice, links, signs = random.Random(RANDOM_STATE), seeds("link"), words()
    share.scenario_of_url(links[0].decode())  # reads the catalogue
    times = [milliseconds(_mutated(dice, links, signs)) for _ in range(LINKS)]
    print(f"{max(times):8.1f} ms  the slowest of {LINKS:,} mutated links ({sum(times) / LINKS:.2f} ms on average)")
    for name, address in HOSTILE.items():
        print(f"{milliseconds(address):8.1f} ms  {name}, {len(address):,} characters")


def _mutated(dice: random.Random, links: list[bytes], signs: list[bytes]) -> str:
    edits = [(dice.randrange(5_000), dice.randrange(4), dice.choice(signs)) for _ in range(dice.randint(1, 6))]
    return mutated(dice.choice(links), edits).decode("utf-8", "replace")


def milliseconds(address: str) -> float:
    """The least processor time of three openings."""
    times = []
    for _ in range(3):
        start = time.process_time()
        with suppress(GpudashError):
            share.scenario_of_url(address)
        times.append((time.process_time() - start) * 1000)
    return min(times)


if __name__ == "__main__":
    main()
