"""Writes the output of the README's examples anew: `make readme` after a change of numbers.

A shown line is kept if a line with the same name is still printed; what lies between shown lines becomes `...`.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```)", flags=re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^\$ python (.*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)
GAP = "..."


def refreshed(content: str) -> str:
    """The text with every example's output as it is printed today."""
    return BLOCK.sub(lambda block: EXAMPLE.sub(_example, block.group()), content)


def _example(example: re.Match) -> str:
    command, shown = example.group(1), example.group(2).splitlines()
    run = subprocess.run(
        [f"{sys.executable} {command} 2>&1"], shell=True, cwd=ROOT, capture_output=True, timeout=120, check=False
    )
    lines = "\n".join(_kept(shown, run.stdout.decode().splitlines()))
    return f"$ python {command}\n{lines}\n"


def _kept(shown: list[str], printed: list[str]) -> list[str]:
    wanted = [_name(line) for line in shown if line != GAP]
    if GAP not in shown:
        return printed
    kept: list[str] = []
    for line in printed:
        if wanted and _name(line) == wanted[0]:
            kept.append(line)
            wanted.pop(0)
        elif kept[-1:] != [GAP]:
            kept.append(GAP)
    return kept


def _name(line: str) -> str:
    """What a line of JSON says before its value."""
    return re.split(r"(?<=\"): ", line)[0]


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text(encoding="utf-8")), encoding="utf-8")
