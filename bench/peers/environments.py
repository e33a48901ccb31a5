"""An environment of its own for each peer, because their pins clash, and a process in it that is asked.

The pins are those of requirements-compare.txt; the environments stand in .peers/ and are made once per pin.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".peers"
# What reading our rows needs beside the peer itself (fit/compare.py).
OURS = {"llm-analysis": ("numpy", "PyYAML", "pydantic")}
INSTALL_S, ASK_S = 1800, 900


class NotAsked(Exception):
    """A peer that could not be installed or that failed; the text says which and why."""


def ask(peer: str, question: dict, write: Callable[[Path], None] = lambda folder: None) -> dict:
    """What the peer's functions answer to a question (see bench/peers/ask.py).

    `write` puts files into the empty folder that the peer takes for the user's home.
    """
    python = _python(peer)
    with tempfile.TemporaryDirectory(prefix=f"{peer}-") as home:
        folder = Path(home)
        write(folder)
        (folder / "question.json").write_text(json.dumps(question), encoding="utf-8")
        command = [python, "-W", "ignore", "-m", "bench.peers.ask", peer, folder]
        _run(command, peer, ASK_S, cwd=ROOT, env=os.environ | {"HOME": home, "GPUHUNT_CATALOG_URL": folder.as_uri()})
        return json.loads((folder / "answer.json").read_text(encoding="utf-8"))


def pins(peer: str) -> list[str]:
    """The requirements of the peer's environment."""
    found = _lines("requirements-compare.txt", peer)
    if not found:
        raise NotAsked(f"{peer} has no pin in requirements-compare.txt")
    return found + [line for name in OURS.get(peer, ()) for line in _lines("requirements.txt", name)]


def _lines(file: str, package: str) -> list[str]:
    """One line, or one for each version of Python."""
    return re.findall(rf"^{re.escape(package)}==.*$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def _python(peer: str) -> Path:
    folder, wanted = ENVIRONMENTS / peer, "\n".join(pins(peer))
    python, installed = folder / "bin" / "python", folder / "pins.txt"
    if not installed.exists() or installed.read_text(encoding="utf-8") != wanted:
        print(f"installing {peer} into {folder.relative_to(ROOT)}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins(peer)], peer, INSTALL_S)
        installed.write_text(wanted, encoding="utf-8")
    return python


def _run(command: list, peer: str, seconds: float, **where) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds, **where)
    except subprocess.TimeoutExpired:
        raise NotAsked(f"{peer}: not done after {seconds} s") from None
    except subprocess.CalledProcessError as error:
        raise NotAsked(f"{peer}: {(error.stderr.strip() or 'it failed without a word').splitlines()[-1]}") from error
