"""How long 10,000 random weight sets take for 800 options and 9 criteria: `make bench`. It prints, it never fails."""

import time

import numpy as np

from gpudash.robustness import first_share

OPTIONS, CRITERIA, RUNS = 800, 9, 9
RANDOM_STATE = 20261130


def main() -> None:
    matrix, objectives = random_table()
    for method in ("ratio", "minmax", "topsis"):
        walls, computed = zip(*(_taken_ms(matrix, objectives, method) for _ in range(RUNS)))
        print(
            f"{min(walls):8.1f} ms  first_share by {method}, {OPTIONS} x {CRITERIA} ({min(computed):.1f} ms computing)"
        )


def random_table() -> tuple[np.ndarray, list[str]]:
    """Options that are close to each other, with criteria of both kinds."""
    matrix = np.random.default_rng(RANDOM_STATE).uniform(1, 2, (OPTIONS, CRITERIA))
    return matrix, ["max" if column % 2 else "min" for column in range(CRITERIA)]


def _taken_ms(matrix, objectives, method: str) -> tuple[float, float]:
    wall, computed = time.perf_counter(), time.process_time()
    first_share(matrix, objectives, method)
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - computed)


if __name__ == "__main__":
    main()
