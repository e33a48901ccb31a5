"""The README shows what the program prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = "".join(re.findall(r"^```console\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL))
EXAMPLES = re.findall(r"^\$ python (.*)\n((?:(?!\$ ).*\n)*)", CONSOLE, flags=re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command[:50] for command, _ in EXAMPLES])
def test_an_example_prints_what_the_readme_shows(command, shown):
    found = subprocess.run(
        [f"{sys.executable} {command} 2>&1"], shell=True, cwd=ROOT, capture_output=True, timeout=120, check=False
    )
    printed = iter(found.stdout.decode().splitlines())
    for line in shown.splitlines():
        assert line == "..." or line in printed, f"the README shows a line that was not printed there: {line}"


def test_the_files_and_folders_that_the_readme_names_exist():
    named = set(re.findall(r"`((?:data|docs|gpudash|tests|ui|pages)/[\w/.-]*)`", README))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
