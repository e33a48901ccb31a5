"""The README shows what the program prints, and names what exists."""

import re

from docs.examples import README, ROOT, refreshed

CONTENT = README.read_text(encoding="utf-8")


def test_the_examples_print_what_the_readme_shows():
    """After a change of numbers: look at them, then `make readme`."""
    assert refreshed(CONTENT) == CONTENT


def test_the_files_and_folders_that_the_readme_names_exist():
    named = set(re.findall(r"`((?:data|docs|gpudash|tests|ui|pages)/[\w/.-]*)`", CONTENT))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
