"""`make fuzz`: every target for some minutes, one line each; what was found lies in .fuzz/finds and ends it with 1."""

import re
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from fuzz.seeds import seeds, words
from fuzz.targets import TARGETS

FOLDER = Path(".fuzz")
LONGEST_INPUT_BYTES = 8192  # a link may have 60,000 characters, but short inputs find more in the same time
SLOWEST_S = 20  # an input that takes longer is a find; machines are shared, so this is no figure of our speed
MOST_MEMORY_MB = 2048


def main() -> int:
    options = _options()
    finds = [find for target in options.target or TARGETS for find in _run(target, options)]
    for find in finds:
        print(f"found: {find}")
    return 1 if finds else 0


def _options() -> Namespace:
    parser = ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"of {', '.join(TARGETS)}; all of them without")
    parser.add_argument("--minutes", type=float, default=1, help="for each target")
    parser.add_argument("--inputs", type=int, default=-1, help="at most so many for each target")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers; 0 draws one")
    return parser.parse_args()


def _run(target: str, options: Namespace) -> list[Path]:
    """Fuzz one target; what it found. The corpus stays, so that the next run goes on where this one stopped."""
    corpus, given, finds = (FOLDER / kind / target for kind in ("corpus", "seeds", "finds"))
    for folder in (corpus, given, finds):
        folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds(target)):
        (given / str(number)).write_bytes(content)
    dictionary = FOLDER / "words.txt"
    dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in words()), encoding="ascii")
    before = set(finds.iterdir())
    command = [sys.executable, "-m", "fuzz.one", target, f"-seed={options.seed}", f"-runs={options.inputs}"]
    command += [f"-max_total_time={round(options.minutes * 60)}", f"-max_len={LONGEST_INPUT_BYTES}"]
    command += [
        f"-timeout={SLOWEST_S}",
        f"-report_slow_units={SLOWEST_S}",
        f"-rss_limit_mb={MOST_MEMORY_MB}",
        f"-dict={dictionary}",
    ]
    command += [f"-artifact_prefix={finds}/", "-print_final_stats=1", str(corpus), str(given)]
    done = subprocess.run(command, capture_output=True, check=False)
    said = done.stderr.decode("utf-8", "replace")
    (finds.parent / f"{target}.log").write_text(done.stdout.decode("utf-8", "replace") + said, encoding="utf-8")
    found = sorted(set(finds.iterdir()) - before)
    print(f"{target:10} {_stat(said):>9,} inputs, {_edges(said):>6,} branches reached, {len(found)} found", flush=True)
    return found or ([finds.parent / f"{target}.log"] if done.returncode else [])


def _stat(said: str) -> int:
    counted = re.findall(r"stat::number_of_executed_units:\s*(\d+)", said) or re.findall(r"^#(\d+)\t", said, re.M)
    return int(counted[-1]) if counted else 0


def _edges(said: str) -> int:
    counted = re.findall(r"cov: (\d+)", said)
    return int(counted[-1]) if counted else 0


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    sys.exit(main())
